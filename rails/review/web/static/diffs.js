// Differences side by side. The server sends one column; the cells are put beside each other here, none is made anew
// but as a copy. Where parts can be chosen there is one column only: each has one box.

let on = localStorage.getItem("split") === "yes";

export function toggle() {
  on = !on;
  localStorage.setItem("split", on ? "yes" : "no");
  for (const diff of document.querySelectorAll(".diff")) apply(diff);
  return on ? "Differences stand side by side." : "Differences stand one below the other.";
}

function apply(diff) {
  const table = diff.querySelector("table:not(.split)");
  if (!table || table.querySelector(".take")) return;
  diff.querySelector("table.split")?.remove();
  table.hidden = on;
  if (on) table.after(beside(table));
}

function beside(table) {
  const split = document.createElement("table");
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
    if (/(^|_)remove$/.test(row.className)) {
      if (right.length) flush();
      left.push(row);
    } else if (/(^|_)add$/.test(row.className)) right.push(row);
    else {
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
  if (!row) return [0, 1, 2].map(() => document.createElement("td"));
  const cells = [row.cells[side], row.cells[2], row.cells[3]].map((cell) => cell.cloneNode(true));
  cells.forEach((cell) => cell.classList.add(row.className));
  return cells;
}

function whole(made, row) {
  const cell = row.cells[3].cloneNode(true);
  cell.colSpan = 6;
  made.className = row.className;
  made.append(cell);
}

new MutationObserver((changes) => {
  if (!on) return;
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (node.nodeType === 1 && !node.matches("table.split, table.split *")) node.querySelectorAll(".diff").forEach(apply);
    }
  }
}).observe(document.querySelector("main"), { childList: true, subtree: true });
