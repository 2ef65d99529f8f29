// The process that holds ESLint and Prettier: one JSON line in, one JSON line out, until its input ends.
//
// Started with the folders whose packages may load.
// Requests: {op: "about" | "options" | "syntax" | "prettier" | "eslint", path, text, …}.
// Answers: {…} or {error}; {ignored} for a file that the configuration excludes. A private protocol between this file
// and rails/gate/languages/javascript/node_tools.py.
// Lines and columns in answers are 1-based and count characters (code points), as everywhere in AI-Rails.
"use strict";

const fs = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const readline = require("node:readline");
const v8 = require("node:v8");
const vm = require("node:vm");

// V8 optimises for programs that run for hours: in a session of dozens of files its compiler costs more than the code
// that it compiles. So cheap machine code for every function at once, and the dear kind later and with less inlining.
// Set here and not on the command line: a release of Node that does not know a name complains and goes on.
const NEW_TIERS = Number.parseInt(process.versions.v8, 10) >= 12;
const LATER = NEW_TIERS ? ["--invocation-count-for-turbofan=9000"] : ["--interrupt-budget=300000"];
for (const flag of ["--always-sparkplug", "--max-inlined-bytecode-size-cumulative=400", ...LATER]) {
  v8.setFlagsFromString(flag);
}

const TYPESCRIPT = /\.(?:ts|tsx|mts|cts)$/i;
const state = { roots: process.argv.slice(2), engines: new Map() };

function find(name) {
  for (const root of state.roots) {
    const inside = createRequire(path.join(root, "anchor.js"));
    try {
      const manifest = inside.resolve(`${name}/package.json`);
      return { version: inside(manifest).version, require: inside, folder: path.dirname(manifest) };
    } catch {
      // Not here: the next root may have it.
    }
  }
  return null;
}

async function about() {
  return {
    node: process.versions.node,
    prettier: state.prettier && state.prettier.version,
    eslint: state.eslint && state.eslint.version,
  };
}

// -- syntax -------------------------------------------------------------------------------------------

async function parses(parser, text, file) {
  const prettier = state.prettier.require("prettier");
  try {
    await prettier.__debug.parse(text, { parser, filepath: file, plugins: [] });
    return null;
  } catch (error) {
    const start = error.loc && error.loc.start;
    if (!start) throw error;
    const message = String(error.message).split("\n")[0].replace(/ \(\d+:\d+\)$/, "");
    return { message, line: Number(start.line) || 1, column: Number(start.column) || 1 };
  }
}

async function syntax({ text, path: file }) {
  if (!state.prettier) return { found: scriptError(text, file) };
  if (!TYPESCRIPT.test(file) && (!moduleError(text) || isModule(text))) return { found: null };
  if (TYPESCRIPT.test(file)) {
    const error = await parses("typescript", text, file);
    if (error && !/x$/i.test(file) && !(await parses("typescript", text, `${file}x`))) {
      error.message = `JSX in a ${path.extname(file)} file`;
      error.remedy = "Name the file .tsx, or write it without JSX.";
    }
    return { found: error };
  }
  const error = await parses("acorn", text, file);
  if (!error) return { found: null };
  const typescript = !(await parses("typescript", text, `${file.replace(/\.\w+$/, "")}.tsx`));
  if (typescript && !/^\s*@\w/m.test(text)) {
    error.message = `TypeScript in a ${path.extname(file)} file: ${error.message}`;
    error.remedy = "Name the file .ts, or write it without types.";
    return { found: error };
  }
  return { found: (await parses("babel", text, file)) && error };
}

// What V8 itself compiles as a module (it is never run) needs no second opinion, and costs 0.1 ms for 200 lines.
function moduleError(text) {
  return compileError(() => new vm.SourceTextModule(text, { identifier: "rails-file" }));
}

// So it is with ESLint's own parser, which reads JSX, too, and without what linting needs is several times as fast as
// Prettier's. What both refuse, or a machine without it, takes the long way.
function isModule(text) {
  if (state.espree === undefined) {
    try {
      state.espree = createRequire(path.join(state.eslint.folder, "package.json"))("espree");
    } catch {
      state.espree = null;
    }
  }
  try {
    state.espree.parse(text, { ecmaVersion: "latest", sourceType: "module", ecmaFeatures: { jsx: true } });
    return true;
  } catch {
    return false;
  }
}

// Without a parser package V8 itself reads plain JavaScript; the code is compiled and never run.
function scriptError(text, file) {
  if (TYPESCRIPT.test(file) || /\.jsx$/i.test(file)) throw new Error("NO_PARSER");
  const modules = moduleError(text);
  if (!modules) return null;
  const script = compileError(() => new vm.Script(text, { filename: "rails-file" }));
  if (!script && !/\.mjs$/i.test(file)) return null;
  if (/<[A-Za-z>]/.test(text) && /Unexpected token '<'/.test(modules.message)) throw new Error("NO_PARSER");
  // Only a script's error says where it is; so the module's text is read again without what makes it one.
  const plain = text.replace(/^(\s*)(import\b[^;\n]*;?|export\s+default\b|export\b)/gm, (all) => all.replace(/[^\n]/g, " "));
  const again = script && script.message === modules.message ? script : located(plain, modules.message);
  const place = again && /rails-file:(\d+)/.exec(again.stack);
  const carets = again && again.stack.split("\n").find((line) => /^\s*\^+\s*$/.test(line));
  const column = carets ? carets.indexOf("^") + 1 : 1;
  return { message: modules.message, line: place ? Number(place[1]) : 1, column };
}

function located(text, message) {
  const error = compileError(() => new vm.Script(`async () => {${text}\n}`, { filename: "rails-file" }));
  return error && error.message === message ? error : null;
}

function compileError(compile) {
  try {
    compile();
    return null;
  } catch (error) {
    if (error.name !== "SyntaxError") throw error;
    return error;
  }
}

// -- formatting ---------------------------------------------------------------------------------------

// The options that the project has for a file, EditorConfig's included. A configuration that is a program, or would load
// one, is named and not run.
async function options({ path: file }) {
  const engine = state.prettier.require("prettier");
  engine.clearConfigCache();
  const config = await engine.resolveConfigFile(file);
  if (config && (/\.[cm]?[jt]s$/.test(config) || namesAnother(config))) return { config, program: true, options: {} };
  const { plugins, ...found } = (await engine.resolveConfig(file, { editorconfig: true })) ?? {};
  return { config, program: Boolean(plugins && plugins.length), options: found };
}

function namesAnother(config) {
  const text = fs.readFileSync(config, "utf8");
  if (config.endsWith("package.json")) return typeof JSON.parse(text).prettier === "string";
  if (config.endsWith("package.yaml")) return /^prettier:[ \t]*[^\s{#]/m.test(text);
  return /^\s*(?:"[^"\n]*"|'[^'\n]*'|[^\s:{}=]+)\s*$/.test(text);
}

async function prettier({ text, path: file, options, ignorePath }) {
  const engine = state.prettier.require("prettier");
  // Prettier's own answer takes a thread and 0.3 ms; without a list, and outside of packages, it is known.
  const asked = ignorePath.some((place) => fs.existsSync(place)) || file.split(/[\\/]/).includes("node_modules");
  if (asked && (await engine.getFileInfo(file, { ignorePath, resolveConfig: false })).ignored) return { ignored: true };
  const formatted = await engine.format(text, { ...options, filepath: file, plugins: [] });
  if (typeof formatted !== "string") throw new Error("it gave back no text");
  return { text: formatted };
}

// What is an error in every project, for those that configure no linter; pinned, because ESLint's own sets change.
const RULES = `constructor-super for-direction getter-return no-class-assign no-compare-neg-zero no-const-assign no-debugger
  no-dupe-args no-dupe-class-members no-dupe-else-if no-dupe-keys no-duplicate-case no-ex-assign no-func-assign
  no-global-assign no-import-assign no-invalid-regexp no-new-native-nonconstructor no-obj-calls no-redeclare no-self-assign
  no-setter-return no-this-before-super no-undef no-unreachable no-unsafe-finally no-unsafe-negation
  no-unsafe-optional-chaining require-yield use-isnan valid-typeof`.split(/\s+/);
// The names that code may find in a browser, in Node.js, in a worker or in a test: what version 16.5 of the package
// "globals" lists for browser, node, commonjs, worker, serviceworker, jest, mocha, jasmine and vitest.
const GLOBALS = Object.fromEntries(
  fs.readFileSync(path.join(__dirname, "globals.txt"), "utf8").split(/\s+/).filter(Boolean).map((name) => [name, true]),
);

// -- linting ------------------------------------------------------------------------------------------

function preset(typescript) {
  const { builtinRules } = state.eslint.require("eslint/use-at-your-own-risk");
  const rules = Object.fromEntries(RULES.filter((rule) => builtinRules.has(rule)).map((rule) => [rule, "error"]));
  const jsx = { parserOptions: { ecmaFeatures: { jsx: true } } };
  const javascript = [
    { files: ["**/*.{js,mjs,jsx}"], languageOptions: { ecmaVersion: "latest", sourceType: "module", globals: GLOBALS, ...jsx }, rules },
    { files: ["**/*.cjs"], languageOptions: { ecmaVersion: "latest", sourceType: "commonjs", globals: GLOBALS }, rules },
  ];
  if (!typescript) return javascript;
  const found = find("typescript-eslint");
  if (!found) return [];
  const { parser } = found.require("typescript-eslint");
  return [{ files: ["**/*.{ts,tsx,mts,cts}"], languageOptions: { parser }, rules: { ...rules, "no-redeclare": "off", "no-undef": "off" } }];
}

// One for JavaScript and one for TypeScript, whose compiler nobody should load for a project without it.
function engine({ root, own, stamp, path: file, config }) {
  const typescript = !own && TYPESCRIPT.test(file);
  const key = `${own}\0${stamp}\0${root}\0${typescript}`;
  if (!state.engines.has(key)) {
    const { ESLint } = state.eslint.require("eslint");
    const isolated = { overrideConfigFile: true, overrideConfig: own ? [] : preset(typescript) };
    const nested = config ? { overrideConfigFile: path.join(root, config) } : {};
    state.engines.set(key, new ESLint({ cwd: root, fix: false, ...(own ? nested : isolated) }));
  }
  return state.engines.get(key);
}

// Offsets where lines start. ESLint also ends lines where JavaScript does and nobody else: at U+2028 and U+2029.
const ENDS = /\r\n|\r|\n/g;
const THEIR_ENDS = /\r\n|[\r\n\u2028\u2029]/g;

function starts(text, ends) {
  return [0, ...Array.from(text.matchAll(ends), (found) => found.index + found[0].length)];
}

// Returns what turns an offset of ESLint's, in UTF-16 units, into our line and column.
function ruler(text) {
  const lines = starts(text, ENDS);
  return (offset) => {
    let [low, high] = [0, lines.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (lines[middle] <= offset) low = middle;
      else high = middle;
    }
    return [low + 1, Array.from(text.slice(lines[low], offset)).length + 1];
  };
}

async function eslint({ text, ...how }) {
  const results = await engine(how).lintText(text, { filePath: how.path, warnIgnored: true });
  if (results.length === 0) return { ignored: "no file was linted" };
  if (results[0].messages.length === 0) return { findings: [], more: {}, fatal: "" };
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const [at, theirs] = [ruler(body), starts(body, THEIR_ENDS)];
  const place = (line, column) => (line ? at((theirs[line - 1] ?? body.length) + (column || 1) - 1) : [0, 0]);
  const [first, rest] = [results[0].messages.slice(0, how.most), results[0].messages.slice(how.most)];
  const more = {};
  for (const { ruleId } of rest) more[ruleId] = (more[ruleId] ?? 0) + 1;
  const findings = first.map((m) => ({
    rule: m.ruleId || "eslint",
    message: m.message,
    start: place(m.line, m.column),
    end: place(m.endLine, m.endColumn),
    edits: m.fix ? [{ start: at(m.fix.range[0]), end: at(m.fix.range[1]), content: m.fix.text }] : [],
    safe: Boolean(m.fix),
  }));
  const ignored = first.find((m) => !m.ruleId && !m.fatal && /ignored|no matching configuration/i.test(m.message));
  if (ignored) return { ignored: ignored.message };
  return { findings, more, fatal: first.find((m) => m.fatal)?.message ?? "" };
}

// -- the loop -----------------------------------------------------------------------------------------

const operations = { about, syntax, options, prettier, eslint };
const TOOLS = { options: "Prettier", prettier: "Prettier", eslint: "ESLint" };
// Whatever a package prints must not get between the answers.
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

(async () => {
  state.prettier = find("prettier");
  state.eslint = find("eslint");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { op, ...request } = JSON.parse(line);
    let answer;
    try {
      answer = await operations[op](request);
    } catch (error) {
      answer = { error: `${TOOLS[op] ?? op} failed: ${String((error && error.message) || error).slice(0, 500)}` };
    }
    write(`${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
})();
