// Reports, comparisons, stories of lines and filtered lists: addresses and keys. The markup comes from the server.

let marked = "";
let focused = ""; // the view whose line is to have the focus once it is there

const paths = {
  r: ([name, line]) => `/api/report/${encodeURIComponent(name || "models")}?q=${encodeURIComponent(line ?? "")}`,
  c: ([a, b]) => `/api/compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`,
  y: ([place]) => `/api/why?at=${encodeURIComponent(place ?? "")}`,
  f: ([line]) => `/api/list?q=${encodeURIComponent(line ?? "")}`,
};

// Show what the address names; false when it is none of ours.
export async function show(kind, rest, signal, { get, put, page, say }) {
  if (focused !== kind) focused = "";
  if (!Object.hasOwn(paths, kind)) return false;
  say("Reading the sessions …");
  const { title, html } = await get(paths[kind](rest.map(decodeURIComponent)), signal);
  put(page, html);
  document.title = `${title} · AI-Rails`;
  say("");
  if (focused === kind) page.querySelector(`form.ask[data-target="${kind}"]`)?.elements.line.focus();
  focused = "";
  return true;
}

// Keys that lead to these views.
export const keys = {
  r: () => { location.hash = "#/r/models"; },
  y: () => ask("y"),
  i: () => ask("f"),
  x: mark,
};

function ask(target) {
  const form = document.querySelector(`form.ask[data-target="${target}"]`);
  if (form) return form.elements.line.focus();
  focused = target;
  location.hash = `#/${target}/`;
}

function mark() {
  const card = document.querySelector("#page .card.current");
  const id = card?.getAttribute("href").split("/")[2];
  if (!id) return;
  if (marked && marked !== id) {
    location.hash = `#/c/${marked}/${id}`;
    marked = "";
    return;
  }
  marked = marked === id ? "" : id;
  card.classList.toggle("marked", marked === id);
  document.getElementById("status").textContent = marked ? "This session is marked; press x on another one to compare the two." : "No session is marked.";
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.ask")) return;
  event.preventDefault();
  location.hash = `#/${event.target.dataset.target}/${encodeURIComponent(event.target.elements.line.value.trim())}`;
});
