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
  page.prepend(Object.assign(document.createElement("h1"), { className: "quiet", textContent: title }));
  heads(page);
  document.title = `${title} · AI-Rails`;
  say("");
  if (focused === kind) page.querySelector(`form.ask[data-target="${kind}"]`)?.elements.line.focus();
  focused = "";
  return true;
}

// The heads of the list of sessions: a click sorts by a column, the next one turns the order around.
export function heads(page) {
  const list = page.querySelector(".sessions");
  if (!list || list.children.length < 2) return;
  const row = document.createElement("div");
  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  const columns = { task: "Task", started: "Started", turns: "Turns", meta: "Agents and decisions", cost: "Cost", spark: "Checks", badge: "Outcome" };
  row.className = "heads";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "Sort by");
  for (const [name, words] of Object.entries(columns)) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: name, textContent: words });
    const key = (item) => item.querySelector(`.${name}`)?.textContent ?? "";
    button.addEventListener("click", () => {
      const by = button.dataset.order === "up" ? -1 : 1;
      row.querySelectorAll("button").forEach((one) => delete one.dataset.order);
      button.dataset.order = by > 0 ? "up" : "down";
      list.append(...[...list.children].sort((a, b) => by * compare(key(a), key(b))));
    });
    row.append(button);
  }
  list.before(row);
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
