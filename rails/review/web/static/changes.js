// What can be done to a session that is over: undo its last step, or delete it. The server says what that does; it is
// done once its word is typed.

const row = document.getElementById("deeds");
const box = document.getElementById("change");
const said = document.getElementById("change-said");
let tools = null; // {get, token, put, say, show}
let shown = null; // {session, do, digest, word}
let latest = 0;
let sending = false;
let done = ""; // what was done, until the page that comes next says it

export function setUp(given) {
  tools = given;
  row.addEventListener("click", (event) => ask(event.target.closest("button")?.dataset.change));
  box.addEventListener("click", (event) => event.target.closest("[value=close]") && box.close());
  box.addEventListener("close", () => (shown = null));
  box.querySelector("form").addEventListener("submit", sent);
}

export function offer(session, may) {
  row.hidden = !may;
  row.dataset.session = session;
}

export function clear() {
  latest += 1;
  row.hidden = true;
  if (box.open) box.close();
}

export function told() {
  const words = done;
  done = "";
  return words;
}

async function ask(what) {
  if (!what) return;
  const mine = ++latest;
  const { session } = row.dataset;
  try {
    const found = await tools.get(`/api/session/${session}/change/${what}`);
    if (mine !== latest) return;
    shown = { session, do: what, ...found };
    tools.put(document.getElementById("change-what"), found.html);
    said.textContent = "";
    box.querySelector("[type=submit]").textContent = what === "undo" ? "Undo the step" : "Delete the session";
    box.showModal();
    document.getElementById("change-word").focus();
  } catch (error) {
    if (mine === latest) tools.say(error.message);
  }
}

async function sent(event) {
  event.preventDefault();
  const asked = shown;
  if (!asked || sending) return;
  const word = document.getElementById("change-word").value.trim();
  if (word !== asked.word) {
    said.textContent = `Type "${asked.word}" in full; Escape changes nothing.`;
    return;
  }
  sending = true;
  said.textContent = "Working …";
  try {
    const reply = await fetch("/api/change", {
      method: "POST", cache: "no-store",
      headers: { "X-AI-Rails-Token": tools.token, "Content-Type": "application/json" },
      body: JSON.stringify({ session: asked.session, do: asked.do, digest: asked.digest, word }),
    });
    const words = reply.ok ? (await reply.json()).words : await reply.text();
    if (shown !== asked) return tools.say(words);
    said.textContent = words;
    if (!reply.ok) return;
    box.close();
    done = words;
    if (asked.do === "delete") location.hash = "#/";
    else await tools.show();
  } catch {
    said.textContent = "The server cannot be reached; check whether it was done before you try again.";
  } finally {
    sending = false;
  }
}
