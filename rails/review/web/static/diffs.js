// Differences side by side, the unchanged lines between them, and the list of the files of a question. The server
// sends one column; the cells are put beside each other here, as copies. The copy of a box is for the box it was made of.

let tools = null; // {get, put, say}

export function setUp(given) {
  tools = given;
}

let on = localStorage.getItem("split") === "yes";

export function toggle() {
  if (document.querySelector("tr.comment")) return "Deny with your comments, or remove them, before you switch views.";
  on = !on;
  localStorage.setItem("split", on ? "yes" : "no");
  for (const diff of document.querySelectorAll(".diff")) apply(diff);
  return on ? "Split diff." : "Unified diff.";
}

function apply(diff) {
  const table = diff.querySelector("table:not(.split)");
  if (!table) return;
  diff.querySelector("table.split")?.remove();
  table.hidden = on;
  if (on) table.after(beside(table));
}

function beside(table) {
  const split = document.createElement("table");
  const columns = document.createElement("colgroup");
  for (const kind of ["n", "mark", "line", "n", "mark", "line"]) columns.append(Object.assign(document.createElement("col"), { className: kind }));
  split.append(columns);
  const body = split.createTBody();
  split.className = "split";
  split.setAttribute("aria-label", `${table.getAttribute("aria-label")}, side by side`);
  let left = [];
  let right = [];
  const flush = () => {
    for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
      const row = body.insertRow();
      row.append(...half(left[at], 0), ...half(right[at], 1));
    }
    left = [];
    right = [];
  };
  for (const row of table.rows) {
    if (/(^|_)remove\b/.test(row.className)) {
      if (right.length) flush();
      left.push(row);
    } else if (/(^|_)add\b/.test(row.className)) right.push(row);
    else if (!row.matches(".comment")) {
      flush();
      if (row.className === "context") body.insertRow().append(...half(row, 0), ...half(row, 1));
      else whole(body.insertRow(), row);
    }
  }
  flush();
  return split;
}

// The number, the mark and the text of a line, of the old file (0) or the new one (1).
function half(row, side) {
  if (!row) return [0, 1, 2].map(() => Object.assign(document.createElement("td"), { className: "none" }));
  const all = [...row.cells].slice(-4);
  const cells = [all[side], all[2], all[3]].map((cell) => cell.cloneNode(true));
  cells.forEach((cell) => {
    cell.classList.add(...row.classList);
    if (row.dataset.of) cell.dataset.of = row.dataset.of;
  });
  const box = row.querySelector(".take input");
  if (box) cells[0].prepend(copied(box));
  return cells;
}

function copied(box) {
  const copy = box.cloneNode(true);
  copy.removeAttribute("data-piece");
  copy.checked = box.checked;
  copy.addEventListener("change", () => {
    if (box.disabled) copy.checked = box.checked;
    else box.click();
  });
  return copy;
}

function whole(made, row) {
  const cell = row.cells[row.cells.length - 1].cloneNode(true);
  cell.colSpan = 6;
  made.className = row.className;
  made.append(cell);
}

// The head of a part says how many unchanged lines are left out above it, and opens them; one more at the end.
function offerGaps(diff) {
  const table = diff.querySelector("table:not(.split)");
  if (!table || table.dataset.gaps || !table.closest("[data-first]") || !/^#\/s\//.test(location.hash)) return;
  table.dataset.gaps = "yes";
  for (const row of table.querySelectorAll("tr.hunk")) offer(row, row.nextElementSibling);
  const end = table.rows[table.rows.length - 1];
  // A part ends with three unchanged lines unless the file ends there.
  if (table.rows.length < 4 || [...table.rows].slice(-3).some((row) => row.className !== "context")) return;
  const row = end.cloneNode(true);
  row.className = "hunk";
  row.querySelectorAll("td").forEach((cell) => cell.replaceChildren());
  end.after(row);
  offer(row, null);
}

const numbers = (row) => [...row.querySelectorAll(".n")].map((cell) => Number(cell.textContent));

function offer(row, next) {
  let above = row.previousElementSibling;
  while (above && !numbers(above)[1]) above = above.previousElementSibling;
  const start = above ? numbers(above)[1] + 1 : 1;
  const beside = next ?? above;
  const [old, at] = beside ? numbers(beside) : [];
  if (!at || (next && (next.className !== "context" || at <= start))) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "gap";
  Object.assign(button.dataset, { gap: row.rowIndex, from: start, to: next ? at - 1 : start + 1e6, at, old });
  button.textContent = next ? `⋯ ${at - start} unchanged ${at - start === 1 ? "line" : "lines"}` : "⋯ what follows";
  row.cells[row.cells.length - 1].prepend(button, " ");
}

// Opens one part; what is opened stands in the place of its button, and has the focus.
async function open(button) {
  const diff = button.closest(".diff");
  const mine = diff.querySelector(`table:not(.split) [data-gap="${button.dataset.gap}"]`);
  if (!mine || mine.disabled) return;
  mine.disabled = true;
  const row = mine.closest("tr");
  const { first, last } = row.closest("[data-first]").dataset;
  const { from, to, at, old } = mine.dataset;
  const beside = Number(at) < Number(from) ? row.previousElementSibling : row.nextElementSibling;
  const path = diff.querySelector("summary code").textContent;
  const text = beside.lastElementChild.textContent.slice(0, 200);
  const line = new URLSearchParams({ first, last, path, from, to, at, old, text });
  try {
    const found = await tools.get(`/api/session/${location.hash.split("/")[2]}/unchanged?${line}`);
    if (!row.isConnected) return;
    const box = document.createElement("div");
    tools.put(box, found.html);
    const rows = [...box.querySelectorAll("tr")];
    if (row.querySelector(".take")) rows.forEach((one) => one.prepend(document.createElement("td")));
    row.before(...rows);
    tools.say(rows.length ? `${rows.length} unchanged ${rows.length === 1 ? "line is" : "lines are"} shown.` : "The file ends here.");
    if (found.more) {
      Object.assign(mine.dataset, { from: Number(from) + rows.length });
      mine.textContent = "⋯ more unchanged lines";
      mine.disabled = false;
    } else if (row.cells[row.cells.length - 1].textContent.includes("@@")) mine.remove();
    else row.remove();
    if (rows.length) {
      rows[0].tabIndex = -1;
      rows[0].focus({ preventScroll: true });
    }
    if (on) apply(diff);
  } catch (error) {
    tools.say(error.message);
  }
}

export async function openAll(scope) {
  const buttons = [...scope.querySelectorAll("table:not(.split) button.gap:not(:disabled)")];
  for (const button of buttons) await open(button);
  if (!buttons.length) tools.say("No unchanged lines are hidden here.");
}

// The files of a question: where each is, how much of it changes, and which of them were looked at. A file that is
// marked as viewed is folded; the marks stay for a question that is drawn again.
export function listFiles(slot, digest) {
  const files = [...slot.querySelectorAll(".diff")];
  if (files.length < 2) return;
  const kept = JSON.parse(sessionStorage.getItem("viewed") ?? "{}");
  const seen = new Set(kept.digest === digest ? kept.seen : []);
  const nav = document.createElement("nav");
  const sum = document.createElement("p");
  const list = document.createElement("ul");
  nav.className = "files";
  nav.setAttribute("aria-label", "Files");
  sum.className = "meta";
  const count = () => (sum.textContent = `${files.length} files, ${seen.size} viewed`);
  files.forEach((diff, at) => {
    const [name, counts] = diff.querySelector("summary").children;
    const item = document.createElement("li");
    const link = document.createElement("a");
    const label = document.createElement("label");
    const box = document.createElement("input");
    const path = name.textContent;
    diff.id = `file-${at}`;
    link.href = `#file-${at}`;
    link.textContent = path;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      diff.open = true;
      diff.scrollIntoView({ block: "start" });
      diff.querySelector("summary").focus({ preventScroll: true });
    });
    box.type = "checkbox";
    box.checked = seen.has(path);
    if (box.checked) diff.open = false;
    box.addEventListener("change", () => {
      seen[box.checked ? "add" : "delete"](path);
      diff.open = !box.checked;
      sessionStorage.setItem("viewed", JSON.stringify({ digest, seen: [...seen] }));
      count();
    });
    label.append(box, " viewed");
    label.setAttribute("aria-label", `${path} viewed`);
    item.append(link, counts.cloneNode(true), label);
    list.append(item);
  });
  count();
  nav.append(sum, list);
  files[0].before(nav);
}

document.querySelector("main").addEventListener("click", (event) => {
  const button = event.target.closest("button.gap");
  if (button) open(button);
});

new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (node.nodeType !== 1 || node.matches("table.split, table.split *, tr")) continue;
      node.querySelectorAll(".diff").forEach(offerGaps);
      if (on) node.querySelectorAll(".diff").forEach(apply);
    }
  }
}).observe(document.querySelector("main"), { childList: true, subtree: true });
