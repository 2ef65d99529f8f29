// Evaluates a dry run's expressions and Code nodes: JSON lines in, one JSON line out for each question.
// Every expression has a context of its own (names.js), kept while the node runs over its items. Node's vm is no
// boundary: whoever starts this process contains it. It holds what nodes put out, by the numbers of the items.
'use strict';
const vm = require('vm');
const crypto = require('crypto');

process.env.TZ = 'UTC';
// Under load an expression gets a part of the processor only: it is given more time before it counts as endless.
const LONGEST_SECONDS = 10;
const KEPT_CONTEXTS = 20;
// As n8n runs code: none is made of texts. What import() gives would be an object of this process.
const CONTEXT = { microtaskMode: 'afterEvaluate', codeGeneration: { strings: false, wasm: false } };
const IMPORT = /\bimport\s*(?:\(|\/[*/])/;
const SAID = new vm.Script('$$said()');
let setting, names, luxon, items, worlds, here, contexts;
let used = process.cpuUsage();

const state = {
  begin(message) {
    [setting, items, worlds, contexts] = [message, new Map(), [], new Map()];
    names ??= new vm.Script(message.names, { filename: 'names.js' });
    luxon = message.luxon ? (luxon ?? new vm.Script(message.luxon, { filename: 'luxon.js' })) : null;
  },
  workflow: (message) => (worlds[message.world] = { ...message, ran: new Map() }),
  item: ([id, json, binary, parents, ...place]) => items.set(id, { json, binary, parents, place }),
  run(message) {
    here = { ...message, ...worlds[message.world] };
    contexts.clear();
  },
  ran: ({ world, node, outputs, context }) => {
    const runs = worlds[world].ran.get(node) ?? [];
    worlds[world].ran.set(node, Object.assign(runs, { [runs.length]: outputs, context }));
  },
};

// -- what an expression asks for: JSON texts, so that no object of this process gets into a context ----------

const view = (id, place) => {
  const { json, binary, parents } = items.get(id);
  const paired = place ?? (parents.length ? items.get(parents[0])?.place[3] : undefined);
  const more = paired === undefined ? '' : `,"pairedItem":{"item":${paired}}`;
  return `{"json":${json}${binary ? `,"binary":${binary}` : ''}${more}}`;
};
const views = (ids) => `[${ids.map((id) => view(id))}]`;
const fault = (words) => JSON.stringify({ fault: words });
const quoted = (name) => JSON.stringify(name);

function outputToHere(name) {
  const seen = new Set([here.node]);
  for (let layer = [here.node]; layer.length;) {
    const wires = layer.flatMap((one) => here.into[one] ?? []);
    const leading = wires.find(([source]) => source === name);
    if (leading) return leading[1];
    layer = [...new Set(wires.map(([source]) => source))].filter((one) => !seen.has(one));
    layer.forEach((one) => seen.add(one));
  }
  return 0;
}

function putOut(name, output, run) {
  const runs = here.ran.get(name);
  if (!runs) return here.pinned[name];
  return (runs[run] ?? runs[runs.length - 1])[output ?? outputToHere(name)] ?? [];
}

function ancestors(id, name) {
  const found = new Set();
  const seen = new Set();
  for (let layer = [id]; layer.length;) {
    const next = [];
    for (const one of layer) {
      if (items.get(one)?.place[0] === name) found.add(one);
      else if (!seen.has(one)) next.push(...(items.get(seen.add(one) && one)?.parents ?? []));
    }
    layer = next;
  }
  return [...found];
}

const notRun = (name) => fault(`Node ${quoted(name)} hasn't been executed`);
const answers = {
  item: () =>
    here.index < here.items.length ? view(here.items[here.index], here.code ? here.index : undefined) : '{"json":{}}',
  items: () => (here.code ? `[${here.items.map((id, place) => view(id, place))}]` : views(here.items)),
  about: () =>
    JSON.stringify({
      itemIndex: here.index,
      runIndex: here.run,
      source: here.source,
      workflow: here.about,
      ...here.nodes[here.node],
    }),
  node: (name) => {
    const [node, runs] = [here.nodes[name], here.ran.get(name)];
    if (!node) return fault(`Referenced node doesn't exist: ${quoted(name)}`);
    return JSON.stringify({
      parameters: node.parameters,
      ran: !!runs,
      runIndex: (runs?.length ?? 0) - 1,
      context: runs?.context ?? {},
    });
  },
  views: (name, output, run) => {
    const ids = putOut(name, output, run);
    return ids ? views(ids) : notRun(name);
  },
  place: (name) => {
    const ids = putOut(name);
    if (!ids) return notRun(name);
    if (here.index < ids.length) return view(ids[here.index]);
    return fault(`Can't get data for expression: ${quoted(name)} has no item ${here.index}`);
  },
  paired: (name) => {
    if (!here.ran.has(name)) return notRun(name);
    const found = ancestors(here.items[here.index], name);
    if (found.length === 1) return view(found[0]);
    const which = found.length ? 'Multiple matches: several items' : 'Paired item data is unavailable: no item';
    return fault(`${which} of ${quoted(name)} lead${found.length ? '' : 's'} to this one`);
  },
  hash: (name, text) => JSON.stringify(crypto.createHash(name).update(text).digest('hex')),
  base64: (text) => JSON.stringify(Buffer.from(text).toString('base64')),
  unbase64: (text) => JSON.stringify(Buffer.from(text, 'base64').toString()),
  luxon: (context) => (luxon?.runInContext(context), String(luxon !== null)),
};

function ask(context, what, ...given) {
  try {
    return answers[what](...(what === 'luxon' ? [context] : given));
  } catch (error) {
    return fault(String(error?.message ?? error));
  }
}

// -- evaluating -------------------------------------------------------------------------------------

function contextOf(key) {
  if (!contexts.has(key)) {
    const made = vm.createContext(Object.create(null), CONTEXT);
    names.runInContext(made)((...given) => ask(made, ...given), setting.now, here.zone, here.code);
    contexts.set(key, made);
    if (contexts.size > KEPT_CONTEXTS) contexts.delete(contexts.keys().next().value);
  }
  return contexts.get(key);
}

function bounded(script, context, seconds = setting.seconds) {
  const before = process.cpuUsage().user;
  try {
    return script.runInContext(context, { timeout: seconds * 1000 });
  } catch (error) {
    if (error?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    const worked = (process.cpuUsage().user - before) / 1e6 >= setting.seconds / 2;
    return worked || seconds * 4 > LONGEST_SECONDS ? null : bounded(script, context, seconds * 4);
  }
}

function evaluated(key, wrapped) {
  let script;
  try {
    script = new vm.Script(wrapped, { filename: 'expression' });
  } catch (error) {
    return fault(`invalid syntax: ${error.message}`);
  }
  let made;
  try {
    const context = contextOf(key);
    made = bounded(script, context);
    if (here.code && made !== null) made = bounded(SAID, context);
  } catch (error) {
    made = fault(String(error?.message));
  }
  if (made === null) return JSON.stringify({ bound: `${setting.seconds} seconds for one expression` });
  if (typeof made !== 'string') return JSON.stringify({ bound: 'code that does not come to an end' });
  return made.length <= setting.chars ? made : JSON.stringify({ bound: `${setting.chars} characters of a result` });
}

function said(message) {
  Object.assign(here, { index: message.index ?? 0, code: message.each !== undefined });
  const { code, key } = message;
  if (!here.code) return evaluated(key ?? code, `$$run(${JSON.stringify(message.form)}, () => (${code}\n))`);
  if (IMPORT.test(code)) return JSON.stringify({ missing: 'import()' });
  return evaluated(code, `$$code(${message.each}, async function () {\n${code}\n})`);
}

require('readline')
  .createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line);
    for (const [what, given] of Object.entries(message)) {
      if (what !== 'value') state[what](given);
      else {
        const text = said(given);
        const { user, system } = process.cpuUsage(used);
        used = process.cpuUsage();
        process.stdout.write(`{"id":${given.id},"cpu":${(user + system) / 1e6},"said":${text}}\n`);
      }
    }
  });
