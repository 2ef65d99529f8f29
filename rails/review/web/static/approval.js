// The approval card. The server draws it; this file arms its keys, gathers edits, and sends one answer with the
// digest of what is shown. Enter, Space and Escape never approve; nothing does in the first 350 ms of quiet.

import * as diffs from "./diffs.js";
import * as notify from "./notify.js";

const QUIET = 350;
const slot = document.getElementById("asked");
const alertPlace = document.getElementById("alert");
const waitingButton = document.getElementById("waiting");
let shown = null; // {session, question, digest, decides, risky, grant, texts}
let shownAt = 0;
let lastKey = 0;
let latest = 0;
let sending = false;
let every = 0; // the question of which every line is wanted
let tools = null; // {get, token, put, say}

export function setUp(given) {
  tools = given;
  slot.addEventListener("click", clicked);
  slot.addEventListener("change", changed);
  slot.addEventListener("input", changed);
  for (const type of ["keydown", "keyup"]) slot.addEventListener(type, noEnter, true);
  waitingButton.addEventListener("click", goToCard);
  // Whoever comes back to this window may still be typing for another one.
  addEventListener("focus", rearm);
  document.addEventListener("visibilitychange", rearm);
}

function rearm() {
  if (!shown || document.hidden) return;
  lastKey = performance.now();
  arm();
}

export async function refresh(session, signal) {
  const mine = ++latest;
  const full = Boolean(every) && shown?.question === every;
  const found = await tools.get(`/api/session/${session}/question${full ? "?full=1" : ""}`, signal);
  if (mine !== latest || signal?.aborted) return; // a later look has seen more
  if (!found.question) return clear();
  if (shown && shown.session === session && shown.question === found.question && shown.decides === found.decides && shown.full === full) return;
  if (shown?.question !== found.question) sending = false;
  shown = { session, full, ...found };
  shownAt = lastKey = performance.now();
  tools.put(slot, found.html);
  slot.hidden = false;
  diffs.listFiles(slot, shown.digest);
  restore();
  arm();
  waitingButton.hidden = false;
  alertPlace.textContent = "A question is waiting for approval.";
  notify.asked(session);
  document.title = document.title.startsWith("●") ? document.title : `● ${document.title}`;
  if (document.activeElement === document.body || document.activeElement?.id === "page") goToCard();
}

export function clear() {
  latest += 1;
  shown = null;
  sending = false;
  slot.hidden = true;
  slot.replaceChildren();
  waitingButton.hidden = true;
  alertPlace.textContent = "";
  document.title = document.title.replace(/^● /, "");
}

export function goToCard() {
  const title = document.getElementById("card-title");
  title?.focus({ preventScroll: true });
  slot.scrollIntoView({ block: "start" });
}

// Says how long it is quiet, and shows when the keys work.
function arm() {
  hold("unarmed", true);
  const question = shown;
  const check = () => {
    if (shown !== question) return;
    if (isArmed()) hold("unarmed", false);
    else setTimeout(check, 50);
  };
  check();
}

// Approve is dimmed, and for a screen reader disabled, for as long as there is a reason.
function hold(reason, is) {
  const bar = slot.querySelector(".bar-answer");
  bar?.classList.toggle(reason, is);
  bar?.querySelector(".primary")?.setAttribute("aria-disabled", bar.matches(".unarmed, .edited"));
}

function isArmed() {
  return performance.now() - Math.max(shownAt, lastKey) >= QUIET;
}

// Returns whether the key was meant for the card.
export function key(event) {
  const inside = shown && (slot.contains(document.activeElement) || document.activeElement === document.body);
  if (inside && event.key === "y") {
    // Elsewhere y leads away from the page; who types it at a question means yes.
    lastKey = performance.now();
    tools.say("y is not an answer here. Press a to approve.");
    return true;
  }
  const option = inside && /^[1-9]$/.test(event.key) && slot.querySelectorAll('[data-do="choose"]')[event.key - 1];
  if (!inside || event.repeat || !(option || ["a", "A", "W", "R", "c", "d", "e"].includes(event.key))) {
    if (shown && !isArmed()) lastKey = performance.now();
    return event.key === "w" && shown ? (goToCard(), true) : false;
  }
  if (shown.decides !== "yes") return true;
  if (!isArmed()) {
    lastKey = performance.now();
    tools.say("Keys are ignored for a moment after a question appears.");
    return true;
  }
  if (option) choose(option);
  else if (!slot.querySelector('[data-do="choose"]')) ({ a: approve, A: grant, W: widen, R: revoke, c: firstComment, d: openDeny, e: edit })[event.key]();
  return true;
}

// Escape closes what was opened last: a panel, or a field that holds nothing yet.
function close(field) {
  const panel = field.closest(".panel") ?? slot.querySelector(".panel[id]:not([hidden])");
  if (field.matches(".comment textarea") && !field.value.trim()) field.closest("tr").remove();
  else if (field.matches(".edit-text") && field.value === shown?.texts[field.dataset.path]) shut(field);
  else if (field.matches("input, textarea") && !panel?.id) field.blur();
  else if (panel?.id) panel.hidden = true;
  goToCard();
}

function noEnter(event) {
  if (event.type === "keydown" && event.key === "Escape") {
    event.stopPropagation();
    return close(event.target);
  }
  if (event.type === "keydown" && event.key === "Enter" && isTypedWord(event.target)) {
    event.preventDefault();
    return sendWhatIsTyped(event.target);
  }
  if (event.type === "keydown" && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return sendWhatIsTyped(event.target);
  }
  const button = event.target.closest?.('[data-do="approve"], [data-do="widen"], [data-do="grant-now"], [data-do="choose"]');
  if (!button || !["Enter", " "].includes(event.key)) return;
  event.preventDefault();
  if (event.type === "keydown") tools.say(`Enter and Space never approve. Press ${button.getAttribute("aria-keyshortcuts") ?? "A"}.`);
}

// A word that had to be typed in full is an answer; anything else that Enter meets in a field is not.
function isTypedWord(field) {
  const word = field.value?.trim();
  return (field.id === "confirm" && word === "approve") || (field.id === "reason" && Boolean(word && optionOf(word)));
}

function optionOf(word) {
  return [...slot.querySelectorAll("[data-must]")].find((button) => button.dataset.must === word);
}

// Ctrl+Enter in a field sends what was typed there: a denial's reason, the word for risks, an edited text to be checked.
function sendWhatIsTyped(field) {
  if (shown?.decides !== "yes" || !isArmed()) return;
  const option = field.id === "reason" && optionOf(field.value.trim());
  const free = slot.querySelector('[data-must=""]');
  if (option) choose(option);
  else if (field.id === "reason" && free) choose(free);
  else if (field.id === "reason" && !slot.querySelector('[data-do="choose"]')) deny();
  else if (field.id === "confirm") approve();
  else if (edits().any) edit();
}

function choose(button) {
  const { choice, must } = button.dataset;
  const field = document.getElementById("reason");
  const said = field?.value.trim() ?? "";
  if (must && said !== must) return wanted(field, `Type "${choice}" first, leave the field with Tab, and answer again.`);
  if (must === "" && !said) return wanted(field, "Write your message first, leave the field with Tab, and answer again.");
  send({ do: "choose", choice, reason: must === choice ? "" : said });
}

function wanted(field, words) {
  field.focus();
  tools.say(words);
}

function clicked(event) {
  const number = event.target.matches("input") ? null : event.target.closest(".diff td.n");
  if (number?.textContent && shown.decides === "yes") return comment(number.closest("tr"), number);
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.edit !== undefined) return openText(button);
  const acts = { approve, deny: openDeny, "deny-now": deny, grant, "grant-now": grantNow, edit, original, abort, full, choose, widen, revoke };
  if (!Object.hasOwn(acts, button.dataset.do)) return;
  if (!isArmed()) return tools.say("Buttons are ignored for a moment after a question appears.");
  if (button.dataset.do === "choose") return choose(button);
  acts[button.dataset.do]();
}

function approve() {
  if (edits().any) return tools.say("Your changes are not checked yet: check your version first (e).");
  if (comments().length) return tools.say("Your comments go to the model when you deny (d). Remove them to approve.");
  if (!confirmed()) return;
  send({ do: "approve" });
}

function confirmed() {
  const field = document.getElementById("confirm");
  if (!field || field.value.trim() === "approve") return true;
  field.focus();
  tools.say('There are risks: type the word "approve" first, leave the field with Tab, and press a.');
  return false;
}

function openDeny() {
  const panel = document.getElementById("deny-panel");
  panel.hidden = false;
  document.getElementById("reason").focus();
}

function deny() {
  send({ do: "deny", reason: [document.getElementById("reason").value.trim(), ...comments()].filter(Boolean).join("\n") });
}

// A comment stands below its line, and goes to the model with the line's place when the change is denied. In an empty
// one the arrow keys lead to the line above and below.
function comment(row, number) {
  const cells = [...row.querySelectorAll("td.n")].filter((cell) => cell.textContent);
  const cell = number ?? cells.at(-1);
  const line = cell?.nextElementSibling && [...row.querySelectorAll("td.line")].at(cell === row.querySelector("td.n") ? 0 : -1);
  if (!line) return;
  if (row.nextElementSibling?.matches(".comment")) return row.nextElementSibling.querySelector("textarea").focus();
  const path = row.closest(".diff").querySelector("summary code").textContent;
  const made = document.createElement("tr");
  const field = document.createElement("textarea");
  made.className = "comment";
  const place = made.insertCell();
  place.colSpan = [...row.cells].reduce((sum, one) => sum + one.colSpan, 0);
  field.rows = 2;
  field.dataset.place = `${path}:${cell.textContent.trim()}`;
  field.dataset.line = line.textContent.trim().slice(0, 200);
  field.setAttribute("aria-label", `Comment on ${field.dataset.place}`);
  field.placeholder = `Comment on ${field.dataset.place}, sent to the model with your denial`;
  field.addEventListener("keydown", (event) => {
    const next = { ArrowUp: "previousElementSibling", ArrowDown: "nextElementSibling" }[event.key];
    if (!next || field.value) return;
    event.preventDefault();
    let other = event.key === "ArrowUp" ? row.previousElementSibling : made.nextElementSibling;
    while (other && !/add|remove|context/.test(other.innerHTML + other.className)) other = other[next];
    if (!other) return;
    made.remove();
    comment(other);
  });
  place.append(field);
  row.after(made);
  field.focus();
}

function comments() {
  const written = [...slot.querySelectorAll(".comment textarea")].filter((field) => field.value.trim());
  return written.map((field) => `${field.dataset.place} (${field.dataset.line}): ${field.value.trim()}`);
}

// The key begins at the first changed line of the file that is looked at.
function firstComment() {
  const rows = [...slot.querySelectorAll(".diff[open] table:not([hidden]) tr")];
  const row = rows.find((one) => one.getBoundingClientRect().top > 60 && /(^|_| )(add|remove)\b/.test(one.className + (one.cells[5]?.className ?? "")));
  if (row) comment(row);
  else tools.say("No changed line is in view.");
}

async function grant() {
  const panel = document.getElementById("grant-panel");
  if (!panel) return;
  if (!panel.hidden) return grantNow();
  panel.hidden = false;
  if (!shown.grant.rule) return tools.say(shown.grant.why_not ?? "");
  const question = shown;
  try {
    const { words } = await tools.get(`/api/session/${shown.session}/question/${shown.question}/rule`);
    if (shown === question) document.getElementById("dry-run").textContent = words;
  } catch (error) {
    tools.say(error.message);
  }
}

function grantNow() {
  if (!shown.grant.rule || edits().any || !confirmed()) return;
  const [uses, minutes] = ["uses", "minutes"].map((id) => Number(document.getElementById(id).value));
  send({ do: "grant", rule: shown.grant.rule, uses, minutes });
}

function original() {
  send({ do: "edit", original: true });
}

function full() {
  every = shown.question;
  refresh(shown.session).catch((error) => tools.say(error.message));
}

// A wider approval and its end are offered as buttons; without one the key does nothing.
function widen() {
  if (slot.querySelector("[data-do=widen]") && !edits().any && confirmed()) send({ do: "widen" });
}

function revoke() {
  if (slot.querySelector("[data-do=revoke]")) send({ do: "revoke" });
}

function abort() {
  send({ do: "abort", reason: "" });
}

// Opens the first file's text, or sends what was changed to be checked.
function edit() {
  const { any, files, left_out } = edits();
  if (any) return send({ do: "edit", files, left_out });
  const button = slot.querySelector("[data-edit]");
  if (button) openText(button);
  else tools.say("There is no text here that can be edited in the page.");
}

function openText(button) {
  const path = button.dataset.edit;
  let area = slot.querySelector(`textarea[data-path="${CSS.escape(path)}"]`);
  if (!area) {
    area = document.createElement("textarea");
    area.dataset.path = path;
    area.className = "edit-text";
    area.spellcheck = false;
    area.setAttribute("aria-label", `The text of ${path}, to be edited`);
    area.value = shown.texts[path];
    area.rows = Math.min(30, area.value.split("\n").length + 1);
    button.parentElement.before(area);
    for (const box of button.closest(".diff").querySelectorAll("[data-piece]")) {
      box.checked = true;
      box.disabled = true;
    }
  }
  area.focus();
}

function shut(area) {
  area.closest(".diff").querySelectorAll("[data-piece]").forEach((box) => (box.disabled = false));
  area.remove();
}

function edits() {
  const files = {};
  const left_out = {};
  for (const area of slot.querySelectorAll("textarea[data-path]")) {
    if (area.value !== shown.texts[area.dataset.path]) files[area.dataset.path] = area.value;
  }
  for (const box of slot.querySelectorAll("[data-piece]:not(:checked)")) {
    (left_out[box.closest(".diff").dataset.path] ??= []).push(Number(box.dataset.piece));
  }
  return { files, left_out, any: Object.keys(files).length + Object.keys(left_out).length > 0 };
}

function changed(event) {
  if (!shown) return;
  if (event.target.dataset.piece !== undefined) mark(event.target);
  const { any, files, left_out } = edits();
  hold("edited", any);
  try {
    sessionStorage.setItem("draft", JSON.stringify({ digest: shown.digest, files, left_out }));
  } catch { /* too large to keep: a reload loses it, as everywhere */ }
}

// Shows whether a part is left out.
function mark(box) {
  const rows = box.closest(".diff").querySelectorAll(`[data-of="${box.dataset.piece}"]`);
  rows.forEach((row) => row.classList.toggle("left-out", !box.checked));
}

// What was typed and left out before the card was drawn anew is put back, if the same thing is asked.
function restore() {
  const draft = JSON.parse(sessionStorage.getItem("draft") ?? "{}");
  if (draft.digest !== shown.digest) return;
  for (const [path, text] of Object.entries(draft.files ?? {})) {
    const button = slot.querySelector(`[data-edit="${CSS.escape(path)}"]`);
    if (!button || !Object.hasOwn(shown.texts, path)) continue;
    openText(button);
    slot.querySelector(`textarea[data-path="${CSS.escape(path)}"]`).value = text;
  }
  for (const box of slot.querySelectorAll("[data-piece]:not(:disabled)")) {
    box.checked = !draft.left_out?.[box.closest(".diff").dataset.path]?.includes(Number(box.dataset.piece));
    mark(box);
  }
  hold("edited", edits().any);
}

async function send(answer) {
  if (!shown || shown.decides !== "yes" || sending) return;
  sending = true;
  const asked = shown;
  const buttons = [...slot.querySelectorAll("button")];
  buttons.forEach((button) => (button.disabled = true));
  tools.say(answer.do === "edit" ? "Your version is being checked." : "Your answer was sent.");
  const body = JSON.stringify({ session: asked.session, question: asked.question, digest: asked.digest, ...answer });
  try {
    const reply = await fetch("/api/decide", {
      method: "POST", body, cache: "no-store",
      headers: { "X-AI-Rails-Token": tools.token, "Content-Type": "application/json" },
    });
    const outcome = reply.headers.get("Content-Type")?.startsWith("application/json") ? await reply.json() : { words: await reply.text() };
    tools.say(outcome.words);
    if (reply.ok || reply.status === 409) return await settled(asked);
  } catch (error) {
    tools.say("The server cannot be reached; nothing was decided here. Start it again, and open the address it prints.");
  }
  if (shown?.question !== asked.question) return;
  sending = false;
  buttons.forEach((button) => (button.disabled = false));
}

// The question is over, or another one has taken its place.
async function settled(asked) {
  if (shown?.question !== asked.question || shown.session !== asked.session) return;
  clear();
  await refresh(asked.session).catch((error) => tools.say(error.message));
}
