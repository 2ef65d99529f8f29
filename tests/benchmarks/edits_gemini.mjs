// Gemini CLI's own functions of its edit tool, taken unmodified out of its installed file: [text, old, new] in, text out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const file = process.argv[2];
const read = (path) => readFileSync(path, "utf8");
const tool = read(file);
const utils = read(file.replace("tools/edit.js", "utils/textUtils.js"));

function taken(source, name) {
  return source.match(new RegExp(`^(?:export )?((?:async )?function ${name}\\([^]*?^\\})`, "m"))[1];
}

const steps = ["Exact", "Flexible", "Regex", "Fuzzy", ""].map((one) => `calculate${one}Replacement`);
const helpers = ["restoreTrailingNewline", "escapeRegex", "stripWhitespace", "applyIndentation"];
const body = [
  ...tool.match(/^const [A-Z_]+ = (?:true|false|[\d.]+);/gm),
  taken(utils, "safeLiteralReplace"),
  ...[...helpers, ...steps].map((name) => taken(tool, name)),
  "return calculateReplacement;",
];
const given = ["levenshtein", "EditStrategyEvent", "logEditStrategy"];
const calculate = new Function(...given, body.join("\n"))(
  createRequire(file)("fast-levenshtein"),
  class {},
  () => {},
);

for await (const line of createInterface({ input: process.stdin })) {
  const [currentContent, old_string, new_string] = JSON.parse(line);
  const found = await calculate({}, { currentContent, params: { old_string, new_string } });
  const good = found.occurrences === 1 && found.finalOldString !== found.finalNewString;
  console.log(JSON.stringify(good ? found.newContent : null));
}
