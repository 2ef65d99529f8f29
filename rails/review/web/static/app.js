// The page. Markup comes from the server, escaped there; this file inserts it, follows running sessions, and
// turns keys into movements. It keeps no state that the log does not have.

import * as approval from "./approval.js";
import * as live from "./live.js";
import * as diffs from "./diffs.js";
import * as changes from "./changes.js";
import * as notify from "./notify.js";
import * as reports from "./reports.js";
import * as turns from "./turns.js";

const policy = window.trustedTypes ? trustedTypes.createPolicy("rails", { createHTML: (html) => html }) : { createHTML: (html) => html };
const page = document.getElementById("page");
const status = document.getElementById("status");
const search = document.getElementById("search");
const help = document.getElementById("help");
const talk = document.getElementById("talk");
const token = takeToken();
let shown = null; // the session that is shown: {session, total, running}
let chosen = 0; // the record of the current turn
let following = true;
let asked = new AbortController();
let stale = false;
let renewing = null; // the signal of the page that is being renewed
let waitsDrawn = "";

// The token comes in the fragment, once; then it leaves the address bar and stays in this tab only.
function takeToken() {
  const match = location.hash.match(/^#token=([\w-]+)(?:&s=([\w-]+))?$/);
  if (match) {
    sessionStorage.setItem("token", match[1]);
    history.replaceState(null, "", match[2] ? `/#/s/${match[2]}` : "/#/");
  }
  return sessionStorage.getItem("token") ?? "";
}

function say(words) {
  status.textContent = words;
}

// What went wrong, unless nobody waits for it any more.
function fail(error) {
  if (error.name !== "AbortError") say(error.message);
}

function put(element, html) {
  element.innerHTML = policy.createHTML(html);
}

async function get(path, signal) {
  const answer = await fetch(path, { headers: { "X-AI-Rails-Token": token }, cache: "no-store", signal }).catch((error) => {
    throw signal?.aborted ? error : new Error("The server cannot be reached. Start it again, and open the address it prints.");
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function place(kind) {
  const report = location.hash.startsWith("#/r/morning") ? "#/r/morning" : "#/r/model";
  const at = { "": "#/", f: "#/", s: "#/", r: report, y: "#/y/" }[kind ?? ""];
  for (const link of document.querySelectorAll(".places a")) {
    if (link.getAttribute("href") === at) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function show() {
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  shown = null;
  chosen = 0;
  turns.end();
  approval.clear();
  live.clear();
  changes.clear();
  status.classList.remove("live");
  const [, kind, id, seq] = location.hash.split("/");
  place(kind);
  try {
    if (kind === "s" && id) await showSession(id, seq, signal);
    else if (kind === "q" && id) await showHits(decodeURIComponent(id), "", signal);
    else if (!(await reports.show(kind, location.hash.split("/").slice(2), signal, { get, put, page, say }))) await showList(signal);
  } catch (error) {
    if (!signal.aborted) fail(error);
  }
}

async function showList(signal) {
  const { title, html } = await get("/api/sessions", signal);
  document.title = "AI-Rails review";
  say(changes.told());
  put(page, `<h1 class="quiet">${title}</h1><div id="waits"></div>${html}`);
  reports.heads(page);
  while (!signal.aborted) {
    const waiting = await get("/api/waiting", signal);
    notify.waiting(waiting.count);
    const place = document.getElementById("waits");
    if (!place) return;
    if (waitsDrawn !== waiting.html || !place.hasChildNodes()) put(place, (waitsDrawn = waiting.html));
    document.title = waiting.count ? `● ${waiting.count} waiting · AI-Rails` : "AI-Rails review";
    await new Promise((done) => setTimeout(done, document.hidden ? 10000 : 2000));
  }
}

async function showHits(line, before, signal) {
  const { html } = await get(`/api/search?q=${encodeURIComponent(line)}&before=${encodeURIComponent(before)}`, signal);
  if (before) page.querySelector(".more")?.remove();
  else page.replaceChildren();
  const part = document.createElement("div");
  put(part, html);
  if (!before) page.append(Object.assign(document.createElement("h1"), { className: "quiet", textContent: "Search" }));
  page.append(part);
  document.title = "Search · AI-Rails";
  say(`These are the newest records for: ${line}`);
}

async function showSession(id, seq, signal) {
  const part = await get(`/api/session/${id}?first=${Math.max(1, Number(seq) || 1)}`, signal);
  put(page, '<div id="head"></div><div id="list"></div>');
  draw(part, true);
  const ask = (line) => get(`/api/session/${id}?${line}&part`, signal);
  turns.begin(document.getElementById("list"), part, { ask, put });
  if (seq) goTo(await turns.at(Number(seq)));
  turns.look().catch(() => {});
  if (!shown.running) return;
  await approval.refresh(id, signal).catch(fail);
  hear(id, signal).catch(() => {});
  // From the turn before the last one, whose end says which attempt this is.
  const whole = turns.part.last >= turns.part.total;
  const from = whole ? Number(turns.all().at(-2)?.dataset.first ?? 1) - 1 : Math.max(0, part.total - 30);
  await live.follow(id, from, token, signal, (kind, data) => take(kind, data, id, signal), say);
}

// The field under a conversation is there while the run waits for words.
async function hear(id, signal) {
  signal.addEventListener("abort", () => (talk.hidden = true));
  while (!signal.aborted) {
    const { hears } = await get(`/api/session/${id}/hears`, signal);
    if (!signal.aborted) talk.hidden = !hears;
    await new Promise((done) => setTimeout(done, document.hidden ? 10000 : 1000));
  }
}

talk.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) talk.requestSubmit();
});

talk.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { signal } = asked;
  const words = document.getElementById("words");
  const said = words.value;
  const reply = await fetch("/api/say", {
    method: "POST",
    headers: { "X-AI-Rails-Token": token, "Content-Type": "application/json" },
    body: JSON.stringify({ session: location.hash.split("/")[2], words: said }),
  }).catch(() => null);
  if (signal.aborted) return;
  if (!reply) return say("The server cannot be reached; nothing was sent.");
  if (!reply.ok) return say(reply.headers.get("Content-Type").includes("json") ? (await reply.json()).words : await reply.text());
  if (words.value === said) words.value = "";
  talk.hidden = true;
});

// A signal of the stream: shown on the strip at once, and the turns are fetched anew, not more often than needed.
function take(kind, data, id, signal) {
  if (signal.aborted) return;
  if (kind === "approval" || kind === "look") approval.refresh(id, signal).catch(() => {});
  else if (kind === "record" || kind === "end" || kind === "reset") renew(id, signal);
  if (!["record", "reset", "look"].includes(kind)) live.draw(kind, data);
}

function renew(id, signal) {
  stale = true;
  if (renewing === signal || !following) return;
  renewing = signal;
  setTimeout(async () => {
    try {
      while (stale && !signal.aborted) {
        stale = false;
        const whole = turns.part.last >= turns.part.total;
        const newer = await get(`/api/session/${id}?first=${(whole && turns.all().at(-1)?.dataset.first) || turns.part.last + 1}`, signal);
        if (signal.aborted) return;
        if (!following) return void (stale = true);
        draw(newer, false);
        turns.grow(newer);
        if (whole && newer.last < newer.total) stale = true;
      }
    } catch (error) {
      if (!signal.aborted) fail(error);
    } finally {
      if (renewing === signal) renewing = null;
    }
  }, 150);
}

function draw(part, fresh) {
  put(document.getElementById("head"), part.head);
  live.totals(part.step, part.meter, part.bars);
  changes.offer(part.session, part.changes);
  const news = fresh || shown.running !== part.running;
  shown = part;
  const waits = document.title.startsWith("●") ? "● " : "";
  document.title = `${waits}${page.querySelector("h1")?.textContent ?? "Session"} · AI-Rails`;
  status.classList.toggle("live", part.running);
  if (news) say(part.running ? "Live: updating." : fresh ? changes.told() : "The session is over.");
}

function goTo(element) {
  if (!element) return;
  page.querySelector(".current")?.classList.remove("current");
  element.classList.add("current");
  chosen = Number(element.dataset.last);
  // Far away, without passing what lies between.
  const far = Math.abs(element.getBoundingClientRect().top) > 2 * innerHeight;
  element.scrollIntoView({ block: "start", behavior: far ? "instant" : "auto" });
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

// Returns what keys start from: a turn, also when the list was scrolled elsewhere; it is fetched again.
async function start() {
  if (shown) await turns.idle();
  while (shown && chosen && !page.querySelector(".current")) (await turns.at(chosen))?.classList.add("current");
  return page.querySelector(".current");
}

async function step(selector, by) {
  const current = await start();
  const items = [...page.querySelectorAll(selector)];
  let at = items.indexOf(current);
  if (at < 0 && current) {
    const before = items.filter((item) => current.compareDocumentPosition(item) & Node.DOCUMENT_POSITION_PRECEDING).length;
    at = by > 0 ? before - 1 : before;
  }
  if (shown && selector === "section.turn" && !items[at + by] && (await turns.more(by).catch(() => false)) !== false) return step(selector, by);
  if (items[at + by] || !current) goTo(items[at + by] ?? items[0]);
}

// The next failed turn of those in the page, or of the session.
async function failure(by) {
  await start();
  const before = chosen;
  await step("section.turn.bad", by);
  if (!shown || chosen !== before) return;
  const inside = by > 0 ? turns.part.last >= turns.part.total : turns.part.first <= 1;
  const from = by > 0 ? turns.part.last : turns.part.first;
  const { seq } = inside ? {} : await get(`/api/failure/${shown.session}?from=${from}&by=${by}`, asked.signal);
  if (seq) goTo(await turns.at(seq));
  else say("There is no other failure in this direction.");
}

// The newest open question of the project.
async function toQuestion() {
  const waiting = document.createElement("div");
  put(waiting, (await get("/api/waiting", asked.signal)).html);
  const first = waiting.querySelector("a.wait");
  if (first) location.hash = first.hash;
  else say("Nothing is waiting for approval.");
}

// One movement after the other: the next one starts where the one before has led, however long that took.
let moved = Promise.resolve();
function move(act) {
  moved = moved.then(act).catch(fail);
}

const keys = {
  j: () => move(() => step(shown ? "section.turn" : ".wait, .card, .hits a", 1)),
  k: () => move(() => step(shown ? "section.turn" : ".wait, .card, .hits a", -1)),
  n: () => move(() => failure(1)),
  p: () => move(() => failure(-1)),
  g: () => scrollTo({ top: 0, behavior: "instant" }),
  G: () => scrollTo({ top: document.body.scrollHeight, behavior: "instant" }),
  f: () => {
    following = !following;
    say(following ? "Live: updating." : "Paused; press f to follow.");
    if (following && shown && stale) renew(shown.session, asked.signal);
  },
  l: () => { location.hash = "#/"; },
  "/": () => search.focus(),
  "?": () => help.showModal(),
  v: () => say(diffs.toggle()),
  w: () => move(toQuestion),
  u: () => move(() => diffs.openAll(page.querySelector("section.current") ?? document.querySelector(".card-asked") ?? page)),
  ...reports.keys,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (approval.key(event)) return event.preventDefault();
  const act = Object.hasOwn(keys, event.key) && keys[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

page.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#turn-"]');
  if (link) {
    event.preventDefault();
    const there = document.getElementById(link.hash.slice(1))?.closest("section");
    if (there || !link.dataset.record) goTo(there);
    else turns.at(Number(link.dataset.record)).then(goTo, fail);
  }
  const button = event.target.closest("button");
  if (!button?.dataset.before || button.disabled) return;
  button.disabled = true; // its answer takes its place
  showHits(decodeURIComponent(location.hash.split("/")[2]), button.dataset.before, asked.signal).catch((error) => {
    button.disabled = false;
    fail(error);
  });
});

search.form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (search.value.trim()) location.hash = `#/q/${encodeURIComponent(search.value.trim())}`;
});

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); page.focus(); });
document.getElementById("keys").addEventListener("click", () => help.showModal());
approval.setUp({ get, token, put, say });
changes.setUp({ get, token, put, say, show });
diffs.setUp({ get, put, say });
addEventListener("hashchange", show);
show();
