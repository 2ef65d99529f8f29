// Runs the JavaScript of one Code node: {code, items, index, nodes} as JSON on standard input, {ok, value} on standard
// output. It has the rights of whoever started it: Node's vm is no boundary, so it is started in the sandbox.
const { code, items, index, nodes } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const list = (found) => ({
  all: () => found,
  first: () => found[0],
  last: () => found[found.length - 1],
  item: found[index ?? 0],
});
const $ = (name) => {
  if (!(name in nodes)) throw new Error(`Node '${name}' hasn't been executed`);
  return { ...list(nodes[name]), isExecuted: true };
};
const names = { $, $input: list(items), items, item: items[index ?? 0], $json: (items[index ?? 0] || {}).json, $itemIndex: index ?? 0 };
const quiet = { log() {}, warn() {}, error() {}, info() {}, debug() {} };
const run = new (Object.getPrototypeOf(async () => {}).constructor)(...Object.keys(names), 'console', code);
const say = (answer) => process.stdout.write(JSON.stringify(answer), () => process.exit(0));
run(...Object.values(names), quiet).then(
  (value) => say({ ok: true, value: value === undefined ? null : value }),
  (error) => say({ ok: false, said: String((error && error.message) || error) }),
);
