// Reports, stories of lines and filtered lists: addresses and keys. The markup comes from the server.

let focused = ""; // the view whose line is to have the focus once it is there

const paths = {
  r: ([name, line]) => `/api/report/${encodeURIComponent(name || "model")}?q=${encodeURIComponent(line ?? "")}`,
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
  m: () => { location.hash = "#/r/morning"; },
  r: () => { location.hash = "#/r/model"; },
  y: () => ask("y"),
  i: () => ask("f"),
};

function ask(target) {
  const form = document.querySelector(`form.ask[data-target="${target}"]`);
  if (form) return form.elements.line.focus();
  focused = target;
  location.hash = `#/${target}/`;
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.ask")) return;
  event.preventDefault();
  location.hash = `#/${event.target.dataset.target}/${encodeURIComponent(event.target.elements.line.value.trim())}`;
});
