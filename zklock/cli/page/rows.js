// SPDX-License-Identifier: Apache-2.0
// The row of a lock, and its details.
function element(name, className, parent) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

// Adds a line to a table. Returns its cells.
function addLine(table, texts, name = "td") {
  const line = element("tr", "", table);
  return texts.map(text => {
    const cell = element(name, "", line);
    cell.textContent = safe(text ?? "");
    return cell;
  });
}

function show(cell, text) {
  if (cell.textContent !== text) cell.textContent = text;
}

const watcher = new IntersectionObserver(entries => {
  for (const e of entries) {
    const row = rows.get(e.target.key);
    if (!row) continue;
    if (e.isIntersecting) { visible.add(row); showAges(row); } else visible.delete(row);
  }
}, {rootMargin: "200px"});

function makeRow(key) {
  const isFolder = key[0] === "d", box = element("div", isFolder ? "row folder" : "row");
  box.key = key;
  box.tabIndex = -1;
  box.setAttribute("role", "treeitem");
  const line = element("div", "line", box), cells = {};
  for (const name of ["dot", "name", "kind", "holder", "note", "since", "past", "count", "bar", "wait"])
    cells[name] = element("span", name, line);
  cells.bar.setAttribute("role", "img");
  const row = {key, box, cells, path: key.slice(1), isFolder, detail: null, ages: []};
  cells.name.title = safe(row.path);
  rows.set(key, row);
  watcher.observe(box);
  if (!isFolder) { makeBar(cells.past); changed.delete(row.path); showLock(row); }
  return row;
}

function dropRow(row) {
  watcher.unobserve(row.box);
  visible.delete(row);
  rows.delete(row.key);
}

function stateOf(lock) {
  if (lock.holders.length) return "held";
  return lock.isUnknown ? "not known" : lock.delay ? "lock delay" : isFree(lock) ? "free" : "not held";
}

function showLock(row) {
  const lock = lockAt(row.path) ?? absentLock(row.path);
  const {cells, box} = row, held = lock.holders.length > 0;
  box.classList.toggle("held", held);
  box.classList.toggle("waits", !held && (lock.waiting > 0 || lock.delay));
  box.classList.toggle("free", isFree(lock));
  box.classList.toggle("cycle", lock.cycle === "certain");
  box.classList.toggle("possible", lock.cycle === "possible");
  const more = lock.holding - 1;
  if (!lock.delay) {
    show(cells.holder, safe(held ? person(lock.holders[0]) + (more > 0 ? ` and ${more} more` : "")
                                 : isFree(lock) ? freeText(lock) : lock.isUnknown ? "not known" : "-"));
  }
  cells.holder.title = safe(lock.holders.map(h => `${kindOf(h)}: ${person(h)}`).join("\n"));
  show(cells.kind, kindText(lock));
  show(cells.note, safe(lock.holders.map(h => h.note).filter(Boolean).join(", ")));
  cells.dot.title = stateOf(lock);
  show(cells.count, lock.waiting ? String(lock.waiting) : "");
  showDetail(row, lock);
  showAges(row);
}

// The commands for a lock, as the viewer's shell needs them. One set of buttons serves all rows: that
// of the row under the pointer, or with the focus.
const quoted = text => /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
const actions = makeActions();
function makeActions() {
  const box = element("span", "actions");
  for (const command of ["ls", "release"]) {
    const button = element("button", "", box);
    button.type = "button";
    button.textContent = command;
    button.tabIndex = -1;
    button.addEventListener("click", () => copyCommand(`zklock ${command} ${quoted(box.closest(".row").key.slice(1))}`));
  }
  return box;
}

// A terminal may run what hidden characters of a path make of the command: it is not copied.
async function copyCommand(text) {
  const shown = safe(text), isHidden = shown !== text, said = $("said");
  const copied = !isHidden && await navigator.clipboard?.writeText(text).then(() => true, () => false);
  said.textContent = isHidden ? `Not copied, because the path has hidden characters: ${shown}` : copied ? `Copied: ${shown}` : shown;
  said.classList.add("shown");
  clearTimeout(copyCommand.timer);
  copyCommand.timer = setTimeout(() => { said.classList.remove("shown"); said.textContent = ""; }, copied ? 3000 : 20000);
}

// Gives the row what the pointer may want: times, and the buttons.
function showActions(row) {
  if (!row || row.isFolder) return;
  const lock = lockAt(row.path) ?? absentLock(row.path), {since} = heldSince(lock);
  row.cells.since.title = since === null ? "" : `since ${dateText(since)}`;
  row.cells.wait.title = isFinite(lock.waitSince) ? `since ${dateText(lock.waitSince)}` : "";
  if (actions.parentElement === row.cells.holder.parentElement) return;
  for (const button of actions.children) button.title = button.ariaLabel = safe(`Copy: zklock ${button.textContent} ${quoted(row.path)}`);
  row.cells.holder.parentElement.append(actions);
}

// Says when the last known hold of a free lock was seen. Later ones may have been missed.
function freeText(lock) {
  const seen = (lock.past ?? []).filter(([, , , isDelay]) => !isDelay).reduce((last, span) => Math.max(last, span[1] ?? 0), 0);
  return seen ? `free, last seen held at ${when(seen)}` : "free";
}

function showAges(row) {
  if (row.isFolder) return;
  const lock = lockAt(row.path) ?? absentLock(row.path);
  const {since, mark} = heldSince(lock), t = now();
  if (lock.delay) show(row.cells.holder, delayText(lock, t));
  show(row.cells.since, lock.holders.length ? ageText(since, t, mark) : "");
  row.cells.since.className = `since ${ageClass(t - lock.alertSince, beat?.held_over_ms)}`;
  showBar(row.cells, lock, t);
  showPastBar(row.cells.past, lock);
  const step = Math.floor(t * BAR_PARTS / spanMs());
  if (row.past && remembers() && row.pastStep !== step) { row.pastStep = step; showPast(row); }
  for (const [cell, from, prefix] of row.ages) show(cell, ageText(from, t, prefix));
}

// The colour of an age: from the threshold on, and from ten times the threshold on.
const ageClass = (age, over) => age >= 10 * over ? "old" : age >= over ? "mid" : "";

// One segment for each waiting contender, the longest wait first: MOST_SEGMENTS of them fill the bar of each lock.
function showBar({bar, wait}, lock, t) {
  const waits = lock.queue.map(c => t - (c.since_ms ?? t)).sort((a, b) => b - a).slice(0, MOST_SEGMENTS);
  const overOf = ms => isFinite(lock.waitAlertSince) ? ageClass(ms, beat?.waited_over_ms) : "";
  while (bar.children.length > waits.length) bar.lastChild.remove();
  while (bar.children.length < waits.length) element("i", "", bar);
  waits.forEach((ms, i) => { if (bar.children[i].className !== overOf(ms)) bar.children[i].className = overOf(ms); });
  bar.classList.toggle("more", lock.waiting > MOST_SEGMENTS);
  const longest = waits.length ? duration(waits[0]) : "";
  show(wait, longest);
  wait.className = `wait ${waits.length ? overOf(waits[0]) : ""}`;
  const text = waits.length ? `${lock.waiting} waiting, the longest for ${longest}` : lock.isUnknown ? "not known" : "none waits";
  if (bar.title !== text) { bar.title = text; bar.setAttribute("aria-label", text); }
}

function showDetail(row, lock) {
  const isOpen = opened.has(row.path);
  row.box.classList.toggle("open", isOpen || lock.cycle !== "none");
  row.box.setAttribute("aria-expanded", String(isOpen));
  // An unchanged detail stays, so that its focus and a selection in it do.
  const content = isOpen || lock.cycle !== "none" ? JSON.stringify([isOpen, {...lock, text: undefined}]) : "";
  if (row.content === content) return;
  row.content = content;
  if (row.detail) row.detail.remove();
  row.detail = null;
  row.past = null;
  row.ages = [];
  if (!isOpen && lock.cycle === "none") return;
  row.detail = element("div", "detail", row.box);
  if (lock.cycle !== "none") showPartners(row, lock);
  if (isOpen) showContenders(row, lock);
}

function showPartners(row, lock) {
  const text = lock.cycle === "certain" ? "deadlock" : "possible deadlock";
  const others = lock.cycle_paths.filter(path => path !== lock.path);
  for (const path of others.length ? others : [lock.path]) {
    const link = element("button", "partner", row.detail);
    link.type = "button";
    link.textContent = safe(`${text}: ${path}`);
    link.addEventListener("click", event => { event.stopPropagation(); reveal(path); });
  }
}

function showContenders(row, lock) {
  const facts = [`path ${lock.path}`, kindText(lock) || stateOf(lock)];
  if (lock.foreign.count) facts.push(`${counted(lock.foreign.count, "other child", "other children")}: ${lock.foreign.names.join(", ")}`);
  element("p", "", row.detail).textContent = safe(facts.join("; "));
  row.past = element("div", "", row.detail);
  showPast(row);
  const table = element("table", "contenders", row.detail);
  addLine(table, ["State", "Kind", "Contender", "For", "Since", "Note", "Thread", "Token", "Session", "Znode"], "th");
  const add = (state, c, from, prefix) => {
    const time = from === null ? "" : (prefix && "after ") + when(from);
    const cells = addLine(table, [state, kindOf(c), person(c), "", time, c.note, c.thread, c.token, c.session, c.node]);
    row.ages.push([cells[3], from, prefix]);
  };
  for (const h of lock.holders)
    add(h.leader ? "leads" : "holds", h, h.held_since_ms ?? h.since_ms, h.held_since_ms === null ? "≤ " : "");
  for (const w of lock.queue) add("waits", w, w.since_ms, "");
  if (lock.queue_cut) element("p", "", row.detail).textContent = `and ${lock.waiting - lock.queue.length} more wait`;
}
