// What n8n's own packages say of values: node n8n_values.js MODULES < cases.json > verdicts.json
//   MODULES  a node_modules folder with n8n-workflow and cron
// Input: a list of [kind, value]; output: for each, whether n8n takes the value.
const [modules] = process.argv.slice(2);
const load = (name) => require(require.resolve(name, { paths: [modules] }));
const { validateFieldType, executeFilter } = load('n8n-workflow');
const { CronTime } = load('cron');
const takes = {
  cron: (text) => Boolean(new CronTime(text)),
  field: ([type, text]) => validateFieldType('a', text, type, { strict: false }).valid,
  json: (text) => JSON.parse(text) !== undefined,
  // A filter of conditions that hold: n8n fails, or says no, where the filter is wrong.
  filter: (value) => executeFilter(value),
};
const verdicts = JSON.parse(require('fs').readFileSync(0, 'utf8')).map(([kind, value]) => {
  try { return takes[kind](value); } catch { return false; }
});
process.stdout.write(JSON.stringify(verdicts));
