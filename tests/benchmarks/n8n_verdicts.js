// Asks n8n's own code again what tests/n8n/*_verdicts.json say that it said. Prints what differs.
//
// Usage: node n8n_verdicts.js MODULES     (a node_modules folder with n8n-workflow, installed with --ignore-scripts)
// Expressions: evaluated by n8n-workflow with the engine quickjs, in a workflow of Start, A (which ran), Never (which did
// not) and Here. Credentials: filled by Workflow, judged by validateNodeCredentials and isNodeConnected.
const fs = require('fs');
const path = require('path');
const modules = path.resolve(process.argv[2]);
const load = (name) => require(require.resolve(name, { paths: [modules] }));
const n8n = load('n8n-workflow');
const table = (name) => JSON.parse(fs.readFileSync(path.join(__dirname, '../n8n', `${name}_verdicts.json`)));

const JSON_ITEM = { name: 'a', flag: true, list: [1, 2], n: 1 };
async function expressions() {
  const rows = table('expression');
  const plain = { description: { properties: [{ name: 'field', type: 'string', default: '' }], version: 1, inputs: ['main'], outputs: ['main'], group: [] } };
  const nodeTypes = { getByName: () => plain, getByNameAndVersion: () => plain, getKnownTypes: () => ({}) };
  const item = (json) => [{ json, pairedItem: { item: 0 } }];
  const ran = (json, source) => [{ startTime: 1, executionTime: 1, executionIndex: 0, source, data: { main: [item(json)] } }];
  const runData = { Start: ran({ name: 'a' }, []), A: ran(JSON_ITEM, [{ previousNode: 'Start' }]) };
  await n8n.Expression.initExpressionEngine({ engine: 'quickjs', poolSize: 1, maxCodeCacheSize: 10, bridgeTimeout: 5000, bridgeMemoryLimit: 64 });
  let differs = 0;
  for (const row of rows) {
    const node = (name, parameters = {}) => ({ id: name, name, type: 'n8n-nodes-base.noOp', typeVersion: 1, position: [0, 0], parameters });
    const wire = (...names) => ({ main: [names.map((name) => ({ node: name, type: 'main', index: 0 }))] });
    const workflow = new n8n.Workflow({ id: 'w', nodes: [node('Start'), node('A'), node('Never'), node('Here', { field: row.code })], connections: { Start: wire('A', 'Never'), A: wire('Here') }, active: false, nodeTypes });
    await workflow.expression.acquireIsolate?.();
    let said = 'runs';
    try {
      workflow.expression.getParameterValue(row.code, n8n.createRunExecutionData?.({ resultData: { runData } }) ?? { resultData: { runData } }, 0, 0, 'Here', item(JSON_ITEM), 'manual', { $execution: { id: '1', mode: 'test' }, $vars: {}, $secrets: {} }, { data: { main: [item({ name: 'a' })] }, node: node('Here'), source: { main: [{ previousNode: 'A' }] } });
    } catch (error) { said = 'refused'; }
    await workflow.expression.releaseIsolate?.();
    if (said !== row.n8n) { differs += 1; console.log(JSON.stringify([row.code, `was ${row.n8n}`, `is ${said}`])); }
  }
  console.log(`${rows.length} expressions, ${differs} differ`);
}

function credentials() {
  const { nodes, rows } = table('credential');
  const start = { name: 'manualTrigger', version: 1, properties: [], credentials: [], inputs: [], outputs: ['main'], group: ['trigger'] };
  const describe = (type, version) => [...nodes, start].find((one) => `n8n-nodes-base.${one.name}` === type && [one.version].flat().includes(version));
  const withFunctions = (type, version) => {
    const description = describe(type, version);
    return description && { description, ...(description.group.includes('trigger') && { trigger() {} }) };
  };
  const nodeTypes = { getByName: withFunctions, getByNameAndVersion: withFunctions, getKnownTypes: () => ({}) };
  let differs = 0;
  for (const row of rows) {
    const type = `n8n-nodes-base.${row.node}`;
    const it = { id: '2', name: 'It', type, typeVersion: row.version, position: [0, 0], parameters: row.parameters, ...(row.credentials !== null && { credentials: row.credentials }), ...(row.disabled && { disabled: true }) };
    const isTrigger = row.node.endsWith('Trigger');
    const wires = row.connected === false ? {} : isTrigger ? { It: { main: [[]] } } : { Start: { main: [[{ node: 'It', type: 'main', index: 0 }]] } };
    const first = { id: '1', name: 'Start', type: 'n8n-nodes-base.manualTrigger', typeVersion: 1, position: [0, 0], parameters: {} };
    const made = new n8n.Workflow({ nodes: structuredClone([first, it]), connections: wires, active: false, nodeTypes }).nodes.It;
    const nodeType = withFunctions(type, row.version);
    const judged = !made.disabled && (n8n.isNodeConnected('It', wires, n8n.mapConnectionsByDestination(wires)) || n8n.isTriggerLikeNode(nodeType));
    const said = judged ? n8n.validateNodeCredentials(made, nodeType).map((issue) => `${issue.type} ${issue.credentialName}`) : [];
    if (said.join() !== row.n8n.join()) { differs += 1; console.log(JSON.stringify([row, said])); }
  }
  console.log(`${rows.length} credential forms, ${differs} differ`);
}

expressions().then(credentials).then(() => process.exit(0));
