// Runs workflows with n8n's own packages (n8n-workflow, n8n-core, n8n-nodes-base) and prints what each node put out.
//
//   NODE_PATH=FOLDER/node_modules node n8n_execute.cjs CASES.json EXPECTED.json
//
// CASES.json: {"name": {"workflow": …, "data": {"node": [items]}, "others": {"id": workflow}}}. A trigger gets its data as
// pinned data. What is not n8n's own here: the runner of Code nodes (Node's Function over n8n's data proxy, in the place
// of its task runner), the clock, which is stopped, and that no database, credential or network is there.
process.env.N8N_USER_FOLDER ||= require('fs').mkdtempSync(require('path').join(require('os').tmpdir(), 'n8n-'));
const fs = require('fs');
const path = require('path');
const root = path.dirname(require.resolve('n8n-nodes-base/package.json'));
const workflowModule = require('n8n-workflow');
const core = require('n8n-core');
const { Workflow, NodeHelpers } = workflowModule;
const luxon = require('luxon');

const NOW = Date.parse(process.env.TRY_NOW || '2026-03-04T15:06:07.089Z');
const RealDate = Date;
global.Date = class extends RealDate {
  constructor(...given) { given.length ? super(...given) : super(NOW); }
  static now() { return NOW; }
};
luxon.Settings.now = () => NOW;

const runs = {};
const known = JSON.parse(fs.readFileSync(path.join(root, 'dist/known/nodes.json')));
const made = {};
const nodeTypes = {
  getByName: (name) => nodeTypes.getByNameAndVersion(name),
  getByNameAndVersion(name, version) {
    const short = name.replace('n8n-nodes-base.', '');
    if (!made[short]) {
      const found = known[short];
      if (!found) throw new Error(`no type ${name}`);
      made[short] = new (require(path.join(root, found.sourcePath))[found.className])();
    }
    return NodeHelpers.getVersionedNodeType(made[short], version);
  },
  getKnownTypes: () => ({}),
};

async function runCode(settings, context, itemIndex) {
  const run = async (index) => {
    const proxy = context.getWorkflowDataProxy(index);
    const names = Object.keys(proxy);
    const extra = settings.nodeMode === 'runOnceForAllItems' ? { items: JSON.parse(JSON.stringify(context.getInputData())) } : { item: JSON.parse(JSON.stringify(context.getInputData()[index])) };
    const all = { ...Object.fromEntries(names.map((n) => [n, proxy[n]])), ...extra };
    const AsyncFunction = (async () => {}).constructor;
    const keys = Object.keys(all).filter((k) => /^[A-Za-z_$][\w$]*$/.test(k));
    return await new AsyncFunction(...keys, `return await (async () => {\n${settings.code}\n})()`)(...keys.map((k) => all[k]));
  };
  try {
    if (settings.nodeMode !== 'runOnceForEachItem') return { ok: true, result: await run(itemIndex) };
    const result = [];
    for (let i = settings.chunk.startIndex; i < settings.chunk.startIndex + settings.chunk.count; i++) {
      try {
        const one = await run(i);
        result.push({ ...(one.json ? one : { json: one }), pairedItem: { item: i } });
      } catch (error) {
        if (!settings.continueOnFail) throw error;
        result.push({ json: { error: error.message }, pairedItem: { item: i } });
      }
    }
    return { ok: true, result };
  } catch (error) {
    return settings.continueOnFail ? { ok: true, result: [{ json: { error: error.message } }] } : { ok: false, error };
  }
}

function additional(others) {
  return {
    credentialsHelper: { getParentTypes: () => [], async getDecrypted() { return {}; } },
    hooks: new core.ExecutionLifecycleHooks('manual', '1', {}),
    executionId: '1', restartExecutionId: undefined, currentNodeExecutionIndex: 0, webhookWaitingBaseUrl: 'http://localhost/', formWaitingBaseUrl: 'http://localhost/',
    instanceBaseUrl: '', restApiUrl: '', webhookBaseUrl: '', webhookTestBaseUrl: '', userId: '1', variables: {},
    executionTimeoutTimestamp: undefined, setExecutionStatus() {}, sendDataToUI() {}, logAiEvent() {},
    getRunExecutionData: async () => runs.sub,
    startRunnerTask: (_a, _type, settings, context, _i, _n, _w, _r, _x, itemIndex) => runCode(settings, context, itemIndex),
    async executeWorkflow(info, _additional, options) {
      const other = others[info.id];
      if (!other) throw new Error(`no workflow ${info.id}`);
      const start = other.nodes.find((n) => n.type === 'n8n-nodes-base.executeWorkflowTrigger').name;
      const full = await execute(other, { [start]: options.inputData }, others);
      const last = full.data.resultData.runData[full.data.resultData.lastNodeExecuted];
      runs.sub = full.data;
      if (full.data.resultData.error) throw full.data.resultData.error;
      return { executionId: '2', data: last[last.length - 1].data.main };
    },
  };
}

async function execute(raw, data, others) {
  const timezone = raw.settings?.timezone || 'America/New_York';
  luxon.Settings.defaultZone = timezone;
  const workflow = new Workflow({
    id: raw.id || 'w', name: raw.name || 'w', nodes: structuredClone(raw.nodes), connections: structuredClone(raw.connections),
    active: false, nodeTypes, settings: { timezone, ...(raw.settings || {}) }, pinData: {},
  });
  const pinData = {};
  for (const [name, items] of Object.entries({ ...(raw.pinData || {}), ...data })) {
    pinData[name] = items.map((one) => (one.json ? one : { json: one }));
  }
  workflow.pinData = pinData;
  const start = Object.keys(data).map((n) => workflow.getNode(n)).find((n) => n && !(workflow.connectionsByDestinationNode[n.name])) || workflow.getStartNode();
  const engine = new core.WorkflowExecute(additional(others), 'manual');
  return await engine.run({ workflow, startNode: start, pinData });
}

(async () => {
  const cases = JSON.parse(fs.readFileSync(process.argv[2]));
  const said = {};
  for (const [name, one] of Object.entries(cases)) {
    try {
      const full = await execute(one.workflow, one.data || {}, one.others || {});
      const nodes = {};
      for (const [node, runs] of Object.entries(full.data.resultData.runData)) {
        nodes[node] = runs.map((run) => run.error && !run.data ? { error: run.error.message }
          : (run.data?.main || []).map((items) => (items || []).map((item) => item.json)));
      }
      said[name] = { nodes, ...(full.data.resultData.error ? { error: full.data.resultData.error.message } : {}) };
    } catch (error) {
      said[name] = { harness: String(error.stack || error) };
    }
  }
  fs.writeFileSync(process.argv[3], JSON.stringify(said, null, 1) + '\n');
  process.exit(0);
})();
