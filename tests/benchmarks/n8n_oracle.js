// What n8n's own code says about workflows: the judge of tests/benchmarks/n8n.py.
//
// Usage: node n8n_oracle.js MODULES NODES [publish] < workflows.json > verdicts.json
//   MODULES  a node_modules folder with n8n-workflow (installed with --ignore-scripts)
//   NODES    a folder that holds the unpacked packages n8n-nodes-base and @n8n/n8n-nodes-langchain
// Input: a JSON array of workflows. Output: for each, the list of its faults as [kind, place]; with `publish` what n8n says
// when it is published, by the checks of n8n-workflow in the order in which n8n's WorkflowValidationService calls them.
// Nothing is executed: nodes are known by their descriptions only.
const fs = require('fs');
const path = require('path');
const [modules, nodesFolder] = process.argv.slice(2, 4).map((p) => path.resolve(p));
const publishes = process.argv[4] === 'publish';
const load = (name) => require(require.resolve(name, { paths: [modules] }));
const n8n = load('n8n-workflow');
const { NodeHelpers, Workflow, LoggerProxy, executeFilter, executeFilterCondition, safeParseWorkflowStructure } = n8n;
const { expressionSandboxHooks } = load(path.join(modules, 'n8n-workflow/dist/cjs/expression-sandboxing.js'));
const { splitExpression } = load('@n8n/tournament/dist/ExpressionSplitter.js');
const { parseScript } = load('esprima-next');
const { extendSyntax } = load(path.join(modules, 'n8n-workflow/dist/cjs/extensions/expression-extension.js'));
const { Tournament } = load('@n8n/tournament');
const tournament = new Tournament(() => {}, undefined, undefined, expressionSandboxHooks);
const warned = [];
LoggerProxy.init({ error() {}, info() {}, debug() {}, warn: (text) => warned.push(text) });
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const copy = (value) => JSON.parse(JSON.stringify(value));
const versions = (d) => [d.version].flat();

function findPackages(folder, depth = 6) {
  const manifest = path.join(folder, 'package.json');
  const nodes = path.join(folder, 'dist/types/nodes.json');
  if (fs.existsSync(nodes)) return [[JSON.parse(fs.readFileSync(manifest)).name, JSON.parse(fs.readFileSync(nodes))]];
  if (!depth) return [];
  return fs.readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap((entry) => findPackages(path.join(folder, entry.name), depth - 1));
}

const types = {};
for (const [name, descriptions] of findPackages(nodesFolder)) {
  for (const d of descriptions) {
    (types[`${name}.${d.name}`] ??= []).push(d);
    if (d.usableAsTool) (types[`${name}.${d.name}Tool`] ??= []).push(asTool(d));
  }
}

// As n8n does it when it loads a package (packages/core, convertNodeToAiTool).
function asTool(description) {
  const tool = copy(description);
  Object.assign(tool, { name: `${tool.name}Tool`, inputs: [], outputs: ['ai_tool'] });
  const names = tool.properties.map((p) => p.name);
  if (names.includes('toolDescription')) return tool;
  const text = { displayName: 'Description', name: 'toolDescription', type: 'string', default: 'x', required: true };
  tool.properties.unshift(text);
  if (names.includes('resource') || names.includes('operation')) {
    const options = [{ name: 'a', value: 'auto' }, { name: 'm', value: 'manual' }];
    tool.properties.unshift({ displayName: 'T', name: 'descriptionType', type: 'options', default: 'auto', options });
    text.displayOptions = { show: { descriptionType: ['manual'] } };
  }
  return tool;
}

function describe(type, version) {
  const found = types[type];
  if (!found) return undefined;
  const wanted = version ?? found[0].defaultVersion ?? Math.max(...found.flatMap(versions));
  return found.find((d) => versions(d).includes(wanted));
}

const nodeTypes = {
  getByName: (type) => ({ description: describe(type) }),
  getByNameAndVersion: (type, version) => {
    const description = describe(type, version);
    return description && { description };
  },
  getKnownTypes: () => ({}),
};

function* dropped(given, kept, place) {
  if (given === null || typeof given !== 'object') return;
  if (kept === null || typeof kept !== 'object') { yield place; return; }
  for (const key of Object.keys(given)) {
    const here = Array.isArray(given) ? `${place}[${key}]` : `${place}.${key}`;
    if (!(key in kept)) yield here;
    else yield* dropped(given[key], kept[key], here);
  }
}

function* strings(value, place) {
  if (typeof value === 'string') yield [value, place];
  else if (value && typeof value === 'object')
    for (const key of Object.keys(value)) yield* strings(value[key], Array.isArray(value) ? `${place}[${key}]` : `${place}.${key}`);
}

function* references(node) {
  if (!node || typeof node !== 'object') return;
  const text = (part) => part?.type === 'Literal' ? part.value : part?.type === 'TemplateLiteral' && !part.expressions.length ? part.quasis[0].value.cooked : undefined;
  const named = (part) => part?.type === 'Identifier' && part.name;
  let found;
  if (node.type === 'CallExpression' && ['$', '$items'].includes(named(node.callee))) found = text(node.arguments[0]);
  if (node.type === 'MemberExpression' && named(node.object) === '$node') found = node.computed ? text(node.property) : node.property.name;
  if (typeof found === 'string') yield found;
  for (const key of Object.keys(node)) if (key !== 'regex') yield* references(node[key]);
}

// Names in comments and texts are none: only what is called.
function named(code) {
  for (const whole of [`(async function () {${code}\n})`, `(async function () { return (${code}\n) })`])
    try { return [...references(parseScript(whole))]; } catch { continue; }
  return [];
}

const samples = { string: 'a', number: 1, boolean: true, dateTime: '2024-01-01', array: [1], object: { a: 1 }, any: 'a' };
function* filters(value, place) {
  if (!value || typeof value !== 'object') return;
  if (value.conditions !== undefined && value.options && value.combinator) yield [value, place];
  for (const key of Object.keys(value)) yield* filters(value[key], `${place}.${key}`);
}

// Conditions that n8n cannot evaluate: it throws, or warns and takes them for untrue.
function conditions(node, description, index, faults) {
  for (const property of description.properties)
    if (property.type === 'filter' && property.name in node.parameters)
      try { if (!Array.isArray(node.parameters[property.name].conditions)) executeFilter(node.parameters[property.name]); }
      catch { faults.push(['operator', `nodes[${index}].parameters.${property.name}`]); }
  for (const [value, place] of filters(node.parameters, `nodes[${index}].parameters`))
    for (const condition of Array.isArray(value.conditions) ? value.conditions : []) {
      const sample = samples[condition?.operator?.type];
      warned.length = 0;
      try { executeFilterCondition({ ...condition, leftValue: sample, rightValue: sample }, value.options); }
      catch (error) { if (error instanceof TypeError) warned.push(error); }
      if (warned.length) faults.push(['operator', place]);
    }
}

function runtime(node, index, names, faults) {
  const isScript = /\.(jsCode|pythonCode|functionCode)$/;
  for (const [text, place] of strings(node.parameters, `nodes[${index}].parameters`)) {
    const script = isScript.test(place);
    if (script && /\.(jsCode|functionCode)$/.test(place) && (node.parameters.language ?? 'javaScript') === 'javaScript') {
      try { new AsyncFunction(text); } catch { faults.push(['code', place]); }
    }
    if (!script && !text.startsWith('=')) continue;
    if (!script) {
      try { new Function(tournament.getExpressionCode(extendSyntax(text.slice(1)))[0]); }
      catch { faults.push(['expression', place]); continue; }
    }
    const parts = script ? [text] : splitExpression(text.slice(1)).filter((part) => part.type === 'code').map((part) => part.text);
    for (const name of parts.flatMap(named)) if (!names.has(name)) faults.push(['reference', place]);
  }
}

// Parameters that the nodes give to n8n's jsonParse when they run.
const jsonTexts = {
  httpRequest: [['jsonBody', 'specifyBody', 'json'], ['jsonQuery', 'specifyQuery', 'json'], ['jsonHeaders', 'specifyHeaders', 'json']],
  outputParserStructured: [['jsonSchemaExample'], ['inputSchema']],
  respondToWebhook: [['responseBody', 'respondWith', 'json']],
  executeWorkflowTrigger: [['jsonExample', 'inputSource', 'jsonExample']],
};
function jsonFaults(node, index, faults) {
  for (const [name, chooser, wanted] of jsonTexts[node.type.split('.').pop()] ?? []) {
    const text = node.parameters[name];
    if (typeof text !== 'string' || !text.trim() || text.startsWith('=') || (chooser && node.parameters[chooser] !== wanted)) continue;
    try { n8n.jsonParse(text); } catch { faults.push(['json', `nodes[${index}].parameters.${name}`]); }
  }
}

function judge(workflow) {
  const faults = [];
  const structure = safeParseWorkflowStructure(workflow);
  if (!structure.success) return structure.issues.map((issue) => ['structure', issue.path.join('.')]);
  const names = new Set(workflow.nodes.map((node) => node.name));
  for (const [index, raw] of workflow.nodes.entries()) {
    const node = copy(raw);
    const description = describe(node.type, node.typeVersion);
    if (!description) {
      if (/^(n8n-nodes-base|@n8n\/n8n-nodes-langchain)\.|^[^.]*$|^nodes-/.test(node.type)) faults.push(['type', `nodes[${index}]`]);
      if (!node.disabled) runtime({ parameters: node.parameters ?? {} }, index, names, faults);
      continue;
    }
    node.typeVersion ??= Math.max(...versions(description));
    const given = copy(node.parameters ?? {});
    try { node.parameters = NodeHelpers.getNodeParameters(description.properties, node.parameters ?? {}, true, false, node, description) ?? {}; }
    catch { faults.push(['opening', `nodes[${index}]`]); continue; }
    for (const place of dropped(given, node.parameters, 'parameters')) faults.push(['dropped', `nodes[${index}].${place}`]);
    const issues = NodeHelpers.getNodeParametersIssues(description.properties, node, description);
    for (const name of Object.keys(issues?.parameters ?? {})) faults.push(['parameter', `nodes[${index}].${name}`]);
    if (!node.disabled && !node.type.endsWith('stickyNote')) {
      runtime(node, index, names, faults);
      conditions(node, description, index, faults);
      jsonFaults(node, index, faults);
    }
  }
  try { edges(new Workflow({ nodes: copy(workflow.nodes), connections: workflow.connections, active: false, nodeTypes }), workflow, faults); }
  catch { faults.push(['opening', 'workflow']); }
  return faults;
}

function edges(made, workflow, faults) {
  const ports = {};
  for (const node of Object.values(made.nodes)) {
    const description = describe(node.type, node.typeVersion);
    const list = (found) => found.map((port) => (typeof port === 'string' ? { type: port } : port));
    if (description) ports[node.name] = { in: list(NodeHelpers.getNodeInputs(made, node, description)), out: list(NodeHelpers.getNodeOutputs(made, node, description)) };
  }
  const at = (list, type, index) => list.filter((port) => port.type === type)[index];
  for (const [source, outputs] of Object.entries(workflow.connections))
    for (const [type, buckets] of Object.entries(outputs))
      for (const [index, bucket] of buckets.entries())
        for (const [position, target] of (bucket ?? []).entries()) {
          const place = `connections.${source}.${type}[${index}][${position}]`;
          const from = ports[source], into = ports[target.node];
          const input = into && at(into.in, target.type, target.index);
          const sourceType = made.nodes[source]?.type;
          if (type !== target.type || (from && !at(from.out, type, index)) || (into && !input)) faults.push(['edge', place]);
          else if (input?.filter?.nodes && !input.filter.nodes.includes(sourceType)) faults.push(['edge', place]);
          else if (input?.filter?.excludedNodes?.includes(sourceType)) faults.push(['edge', place]);
        }
  for (const node of Object.values(made.nodes))
    for (const input of node.disabled ? [] : ports[node.name]?.in ?? [])
      if (input.required && !made.getParentNodes(node.name, input.type, 1).length) faults.push(['input', node.name]);
}

// What n8n says when a workflow is published: WorkflowValidationService.validateForActivation, webhooks, trigger ids.
const withFunctions = (type, version) => {
  const description = describe(type, version);
  if (!description) return undefined;
  const starts = (description.group ?? []).includes('trigger') && !description.polling && !description.webhooks;
  return { description, ...(starts && { trigger() {} }), ...(description.polling && { poll() {} }), ...(description.webhooks && { webhook() {} }) };
};
const publishTypes = { ...nodeTypes, getByNameAndVersion: withFunctions };

function publish(workflow) {
  const faults = [];
  if (!safeParseWorkflowStructure(workflow).success) return [['structure', 'workflow']];
  const made = new Workflow({ nodes: copy(workflow.nodes), connections: workflow.connections, active: false, nodeTypes: publishTypes });
  const ignored = ['@n8n/n8n-nodes-langchain.manualChatTrigger', 'n8n-nodes-base.manualTrigger'];
  if (!n8n.validateWorkflowHasTriggerLikeNode(made.nodes, publishTypes, ignored).isValid) faults.push(['trigger', 'workflow']);
  const into = n8n.mapConnectionsByDestination(workflow.connections);
  const routes = new Set(), ids = new Set();
  for (const node of Object.values(made.nodes)) {
    if (node.disabled) continue;
    const type = withFunctions(node.type, node.typeVersion);
    if (!type) { faults.push(['type', node.name]); continue; }
    const starts = n8n.isTriggerLikeNode(type);
    if (node.type === 'n8n-nodes-base.webhook' && typeof node.parameters.path === 'string' && !node.parameters.path.startsWith('='))
      for (const method of [node.parameters.httpMethod ?? 'GET'].flat()) {
        const route = `${method} ${node.parameters.path.replace(/^\/+|\/+$/g, '')}`;
        if (routes.has(route)) faults.push(['webhook', node.name]);
        routes.add(route);
      }
    if (starts && node.id && ids.has(node.id)) faults.push(['id', node.name]);
    if (starts) ids.add(node.id);
    if (!starts && !n8n.isNodeConnected(node.name, workflow.connections, into)) continue;
    for (const issue of n8n.validateNodeCredentials(node, type)) faults.push([`credential ${issue.type} ${issue.credentialName}`, node.name]);
    const issues = NodeHelpers.getNodeParametersIssues(type.description.properties, node, type.description);
    for (const name of Object.keys(issues?.parameters ?? {})) faults.push(['parameter', `${node.name}.${name}`]);
  }
  return faults;
}

const workflows = JSON.parse(fs.readFileSync(0, 'utf8'));
const started = process.hrtime.bigint();
const verdicts = workflows.map((workflow) => {
  try { return publishes ? publish(workflow) : judge(workflow); } catch (error) { return [['opening', String(error.message)]]; }
});
const ms = Number(process.hrtime.bigint() - started) / 1e6 / Math.max(workflows.length, 1);
process.stdout.write(JSON.stringify({ verdicts, ms }));
