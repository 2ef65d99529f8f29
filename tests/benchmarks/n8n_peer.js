// What the validator of the npm package n8n-mcp says: the comparison in tests/benchmarks/n8n.py.
//
// Usage: node n8n_peer.js MODULES < workflows.json > verdicts.json
// MODULES is a node_modules folder with n8n-mcp and its dependencies (npm install --ignore-scripts n8n-mcp).
// Output: for each workflow its error messages (profile "runtime"), and the milliseconds of each.
const fs = require('fs');
const path = require('path');
const root = path.resolve(process.argv[2], 'n8n-mcp');
const log = console.log;
for (const name of ['log', 'info', 'warn', 'error', 'debug']) console[name] = () => {};
const load = (name) => require(path.join(root, 'dist', name));

async function main() {
  const adapter = await load('database/database-adapter.js').createDatabaseAdapter(path.join(root, 'data/nodes.db'));
  const repository = new (load('database/node-repository.js').NodeRepository)(adapter);
  const validator = new (load('services/workflow-validator.js').WorkflowValidator)(
    repository, load('services/enhanced-config-validator.js').EnhancedConfigValidator);
  const verdicts = [];
  const ms = [];
  for (const workflow of JSON.parse(fs.readFileSync(0, 'utf8'))) {
    const started = process.hrtime.bigint();
    let errors;
    try {
      const result = await validator.validateWorkflow(workflow, { profile: 'runtime' });
      errors = result.errors.map((error) => `${error.nodeName ?? ''}: ${JSON.stringify(error.message)}`);
    } catch (error) { errors = [`exception: ${error.message}`]; }
    ms.push(Number(process.hrtime.bigint() - started) / 1e6);
    verdicts.push(errors);
  }
  fs.writeSync(1, '');
  process.stdout.write(JSON.stringify({ verdicts, ms }), () => process.exit(0));
}
main();
