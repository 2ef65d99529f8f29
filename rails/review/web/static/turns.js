// The turns of a session as one long list, of which a few are in the page: the rest is space above and below them, in
// proportion to the records of the log. Who scrolls into the space gets what belongs there.

const MOST = 120; // turns that are in the page at a time
const TALLEST = 8e6; // pixels; browsers stop at about twice as many
const drawn = new Map(); // turn number → its markup
let place, above, below, ask, put;
let unit = 0; // pixels for a record that is not in the page; stays, so that the scroll bar does
let busy = 0; // requests under way, overtaken ones too
const waiters = []; // who goes on when none is
let missed = false; // a look that was wanted meanwhile
let moves = 0; // what was asked for before the list was drawn anew is not taken in
let wanted = 0; // the latest place asked for; no earlier one is gone to
export let part = null; // {session, first, last, total}: what is in the page

export function begin(root, given, tools) {
  ({ ask, put } = tools);
  [above, place, below] = [..."abc"].map(() => document.createElement("div"));
  place.id = "turns";
  root.replaceChildren(above, place, below);
  drawn.clear();
  part = { ...given };
  unit = 0;
  given.turns.forEach((turn) => set(turn, null));
  space();
}

export function end() {
  moves += 1;
  wanted += 1;
  part = null;
}

export function all() {
  return place ? [...place.children] : [];
}

function space() {
  const records = part.last - part.first + 1;
  unit ||= Math.min(Math.max(4, place.offsetHeight / Math.max(1, records)), TALLEST / part.total);
  above.style.height = `${(part.first - 1) * unit}px`;
  below.style.height = `${Math.max(0, part.total - part.last) * unit}px`;
}

// Puts a turn into the page; one that is there and the same stays as it is, for whoever reads it.
function set({ number, html }, before) {
  if (drawn.get(number) === html) return;
  drawn.set(number, html);
  const box = document.createElement("div");
  put(box, html);
  const old = document.getElementById(`turn-${number}`)?.closest("section");
  if (old?.matches(".current")) box.firstElementChild.classList.add("current");
  if (old) old.replaceWith(box.firstElementChild);
  else place.insertBefore(box.firstElementChild, before);
}

// What is looked at stays where it is, whatever comes or goes above it.
function keep(change) {
  const seen = all().find((one) => one.getBoundingClientRect().bottom > 0);
  const top = seen?.getBoundingClientRect().top ?? 0;
  change();
  space();
  if (seen?.isConnected && top < innerHeight) scrollBy({ top: seen.getBoundingClientRect().top - top, behavior: "instant" });
}

function drop(one) {
  drawn.delete(Number(one.querySelector("h2").id.slice(5)));
  one.remove();
}

// Takes in what a newer look has of the end of the session.
export function grow(newer) {
  keep(() => {
    part.total = newer.total;
    if (newer.first < part.first || newer.first > part.last + 1) return; // the list has been elsewhere meanwhile
    newer.turns.forEach((turn) => set(turn, null));
    part.last = Math.max(part.last, newer.last);
  });
}

function done() {
  busy -= 1;
  if (busy) return;
  waiters.splice(0).forEach((go) => go());
  if (missed) soon();
}

// Ends when nothing is being fetched.
export async function idle() {
  while (busy) await new Promise((go) => waiters.push(go));
}

// Adds turns at an end. False: there are none; null: ask again, something else is being fetched.
export async function more(by) {
  if (!part || (by > 0 ? part.last >= part.total : part.first <= 1)) return false;
  if (busy) return null;
  busy += 1;
  const mine = moves;
  try {
    const found = await ask(by > 0 ? `first=${part.last + 1}` : `before=${part.first}`);
    if (mine !== moves) return null;
    if (!found.turns.length) return false;
    keep(() => {
      const first = by > 0 ? null : place.firstElementChild;
      found.turns.forEach((turn) => set(turn, first));
      part.total = Math.max(part.total, found.total);
      if (by > 0) part.last = Math.max(part.last, found.last);
      else part.first = found.first;
      while (place.children.length > MOST && by > 0) {
        drop(place.firstElementChild);
        part.first = Number(place.firstElementChild.dataset.first);
      }
      while (place.children.length > MOST && by < 0) {
        part.last = Number(place.lastElementChild.dataset.first) - 1;
        drop(place.lastElementChild);
      }
    });
    return true;
  } finally {
    done();
  }
}

// Returns the turn of a record, after it was fetched if need be; nothing where a later call overtook this one.
export async function at(record) {
  if (!part) return null;
  const mine = ++wanted;
  if (record < part.first || record > part.last) {
    busy += 1;
    try {
      const found = await ask(`first=${record}`);
      if (mine !== wanted) return null;
      moves += 1;
      all().forEach(drop);
      Object.assign(part, { first: found.first, last: found.last, total: found.total });
      found.turns.forEach((turn) => set(turn, null));
      space();
    } finally {
      done();
    }
  }
  return all().find((turn) => Number(turn.dataset.last) >= record) ?? all().at(-1);
}

// Fetches what is looked at, and what will be next.
export async function look() {
  missed = busy > 0;
  if (busy || !part) return;
  const top = above.getBoundingClientRect().bottom;
  const bottom = below.getBoundingClientRect().top;
  if (part.first > 1 && top > innerHeight && top - above.offsetHeight < innerHeight) await jump(1 + Math.max(0, above.offsetHeight - top) / unit);
  else if (part.last < part.total && bottom < 0) await jump(part.last + 1 - bottom / unit);
  else if (part.last < part.total && bottom < 2 * innerHeight) (await more(1)) && look();
  else if (part.first > 1 && top > -innerHeight) (await more(-1)) && look();
}

async function jump(record) {
  const turn = await at(Math.max(1, Math.min(part.total, Math.round(record))));
  if (!turn) return;
  turn.scrollIntoView({ block: "start", behavior: "instant" });
  await look();
}

let waiting = false;
function soon() {
  if (waiting) return;
  waiting = true;
  setTimeout(() => { waiting = false; look().catch(() => {}); }, 60);
}
addEventListener("scroll", soon, { passive: true });
