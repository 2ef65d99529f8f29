// A running session: its stream, read over fetch so that the token stays in a header, and the strip of pills.
// The stream's ids are the numbers of the log's records; after a break it goes on where it stopped.

const strip = document.getElementById("live");
const pills = document.getElementById("pills");
const facts = document.getElementById("live-facts");
const meter = document.getElementById("live-meter");
const bars = document.getElementById("live-bars");
const text = document.getElementById("live-text");
const said = { step: "", turn: "", attempt: "" };

export async function follow(session, after, token, signal, take, say) {
  let seen = after;
  let pause = 500;
  let lost = false;
  while (!signal.aborted) {
    if (document.hidden) {
      // No stream for a tab that nobody sees: a browser has six connections. What waits is still looked for.
      await Promise.race([shown(signal), new Promise((done) => setTimeout(done, 3000))]);
      take("look", {}, seen);
      continue;
    }
    const mine = new AbortController();
    const stop = () => mine.abort();
    const hide = () => document.hidden && mine.abort();
    signal.addEventListener("abort", stop, { once: true });
    document.addEventListener("visibilitychange", hide);
    try {
      const answer = await fetch(`/api/session/${session}/stream`, {
        headers: { "X-AI-Rails-Token": token, "Last-Event-ID": String(seen) }, cache: "no-store", signal: mine.signal,
      });
      if (answer.status === 401) return say("The server was restarted. Open the address that it printed.");
      if (answer.status === 404) return;
      if (!answer.ok) throw new Error(await answer.text());
      if (lost) {
        say("Reconnected.");
        take("look", {}, seen);
      }
      lost = false;
      pause = 500;
      strip.dataset.state = "on";
      for await (const event of events(answer.body)) {
        if (event.id) seen = Number(event.id);
        if (event.kind) take(event.kind, event.data, seen);
        if (event.kind === "end") return;
      }
    } catch (error) {
      // Once: what a key was answered with meanwhile stays to be read.
      if (!mine.signal.aborted && !lost) say("Connection lost; trying again.");
      lost = !mine.signal.aborted;
    } finally {
      mine.abort();
      signal.removeEventListener("abort", stop);
      document.removeEventListener("visibilitychange", hide);
      strip.dataset.state = "off";
    }
    await new Promise((done) => setTimeout(done, document.hidden ? 0 : pause));
    pause = Math.min(5000, pause * 2);
  }
}

function shown(signal) {
  return new Promise((done) => {
    document.addEventListener("visibilitychange", done, { once: true });
    signal.addEventListener("abort", done, { once: true });
  });
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const event = { id: "", kind: "", data: {} };
      for (const line of part.split("\n")) {
        if (line.startsWith("id: ")) event.id = line.slice(4);
        else if (line.startsWith("event: ")) event.kind = line.slice(7);
        else if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
      }
      yield event;
    }
  }
}

export function clear() {
  strip.hidden = true;
  pills.replaceChildren();
  Object.keys(said).forEach((key) => (said[key] = ""));
  facts.textContent = meter.textContent = text.textContent = "";
  text.hidden = true;
  bars.replaceChildren();
}

// How much of each bound of the budget is used.
function budget(shares) {
  if (bars.children.length !== shares.length) bars.replaceChildren(...shares.map(() => document.createElement("label")));
  shares.forEach(([name, share], at) => {
    const label = bars.children[at];
    if (!label.children.length) label.append(`${name} `, document.createElement("progress"));
    label.lastChild.max = 1;
    label.lastChild.value = share;
    label.lastChild.classList.toggle("near", share > 0.8);
  });
}

// What a window knows of the whole session: its step of the plan, and what it has used.
export function totals(step, used, shares) {
  said.step = step;
  meter.textContent = used;
  budget(shares);
  tell();
}

// What a signal changes on the strip. Everything is set as text.
export function draw(kind, data) {
  strip.hidden = false;
  if (kind === "turn") {
    pills.replaceChildren();
    said.turn = data.message;
  } else if (kind === "agent") said.turn = `${data.agent} starts: ${data.message}`;
  else if (kind === "attempt") said.attempt = data.message;
  else if (kind === "cost") said.turn = said.turn.replace(": asking ", " · ");
  else if (kind === "meter") {
    meter.textContent = data.words;
    budget(data.bars);
  } else if (kind === "text") {
    text.hidden = !data.words;
    text.textContent = data.words;
    text.scrollTop = text.scrollHeight;
  }
  else if (kind === "error") said.attempt = `❌ ${data.message}`;
  else if (kind === "end") said.turn = `The session is over: ${data.outcome}`;
  else if (kind.startsWith("json-tool-")) pill(kind, data);
  tell();
}

function tell() {
  facts.textContent = Object.values(said).filter(Boolean).join(" · ");
}

const SIGNS = { buffering: "🔧", executing: "🔧", checking: "🔎", checked: "🔎", waiting: "●", approved: "✅", answered: "✅", completed: "✅", failed: "❌" };

function pill(kind, data) {
  let item = [...pills.children].find((one) => one.dataset.id === data.toolId);
  if (!item) {
    item = document.createElement("li");
    item.dataset.id = data.toolId;
    pills.append(item);
  }
  // A request that was refused stays refused, whatever comes for the whole block afterwards.
  if (kind === "json-tool-block" && item.dataset.state === "failed") return;
  const block = kind === "json-tool-block";
  const state = block ? (data.verdict === "failed" ? "failed" : "checking") : data.status === "findings" ? "failed" : data.status;
  item.dataset.state = state;
  item.dataset.seen = `${item.dataset.seen ?? ""} ${block ? "block" : data.status}`.trim();
  const name = data.path || data.toolType || "";
  const verdict = { failed: "Refused", corrected: "Checking (corrected)" }[data.verdict] ?? "Checking";
  const words = `${SIGNS[state] ?? "⛔"} ${block ? verdict : data.statusMessage}`;
  item.textContent = words.includes(name) ? words : `${words} · ${name}`;
  item.title = data.toolType ?? "";
}
