// SPDX-License-Identifier: Apache-2.0
// Which rows there are, in which order.
const parentOf = path => path.slice(0, Math.max(path.lastIndexOf("/"), 0));
const byPath = (a, b) => a.sort < b.sort ? -1 : a.sort > b.sort ? 1 : 0;
// Both may be Infinity: unknown.
const byTime = (a, b) => a < b ? -1 : a > b ? 1 : 0;
// The orders of the server.
function compare(a, b) {
  if (order.value === "queue") return b.waiting - a.waiting || byTime(a.waitSince, b.waitSince) || byPath(a, b);
  if (order.value === "oldest") {
    return byTime(a.alertSince, b.alertSince) || (b.holders.length > 0) - (a.holders.length > 0) || byPath(a, b);
  }
  return byPath(a, b);
}

// The filters of the header. Of the locks that the stream leaves out, none is filtered.
const isLong = (since, over) => now() - since >= over;
const isHeldLong = lock => isLong(lock.alertSince, beat?.held_over_ms);
const isWaitLong = lock => isLong(lock.waitAlertSince, beat?.waited_over_ms);
const isFiltered = () => ["held", "waited", "dead"].some(id => $(id).checked && !$(id).disabled);
// Returns whether a lock passes, as a function, because the controls are slow to read. In the view by
// host, only the host counts: each hold and each wait on a host matters before a reboot.
function filter() {
  const host = $("host").value, [held, waited, dead, free] = ["held", "waited", "dead", "free"].map(id => $(id).checked && !$(id).disabled);
  const has = c => c.host === host, isAny = held || waited || dead;
  return lock => (!host || lock.holders.some(has) || lock.queue.some(has)) && (isAny ?
    (held && isHeldLong(lock)) || (waited && isWaitLong(lock)) || (dead && lock.cycle !== "none") : free || !isFree(lock) || opened.has(lock.path));
}

// Returns the locks to be shown. The server answers for the locks that the stream leaves out.
function choose() {
  const passes = filter();
  if (isAnswered()) return found.locks.map(lock => lockAt(lock.path)).filter(passes);
  const words = wordsOf(search.value);
  // An open lock stays if it becomes free. A link can open one that the server does not send.
  const others = [...opened].filter(path => !lockAt(path)).map(absentLock);
  return [...locks.values(), ...others].filter(lock => passes(lock) && matches(lock, words));
}

// Returns the keys of the rows, with their depth and their text.
function plan() {
  const chosen = choose().sort(compare);
  if (order.value !== "tree") return chosen.map(lock => ({key: "l" + lock.path, depth: 0, text: lock.path}));
  const list = [], stack = [];  // stack: the folders of the last lock
  const base = root === "/" ? "" : root;
  for (const lock of chosen) {
    const parent = parentOf(lock.path).slice(base.length);
    const names = parent.split("/").filter(Boolean);
    let same = 0;
    while (same < names.length && same < stack.length && stack[same] === names[same]) ++same;
    stack.length = same;
    for (const name of names.slice(same)) {
      stack.push(name);
      if (!isHidden(base, stack, stack.length - 1))
        list.push({key: `d${base}/${stack.join("/")}`, depth: stack.length - 1, text: name + "/"});
    }
    if (!isHidden(base, stack, stack.length))
      list.push({key: "l" + lock.path, depth: stack.length, text: lock.path.slice(lock.path.lastIndexOf("/") + 1)});
  }
  return list;
}

// Sets the position of each item among the items of its folder, and their number, for a screen reader.
function setPositions(list) {
  const open = [];  // by depth: the items of the folder up to here
  const close = depth => { while (open.length > depth) { const all = open.pop(); for (const item of all) item.size = all.length; } };
  for (const item of list) {
    close(item.depth + 1);
    while (open.length <= item.depth) open.push([]);
    open[item.depth].push(item);
    item.position = open[item.depth].length;
  }
  close(0);
}

// Whether one of the first `count` folders is closed. A search opens all.
function isHidden(base, stack, count) {
  if (closed.size === 0 || search.value) return false;
  let path = base;
  for (let i = 0; i < count; ++i) if (closed.has(path += "/" + stack[i])) return true;
  return false;
}

function setAria(row, name, value) {
  if (row[name] !== value) row.box.setAttribute(`aria-${name}`, row[name] = value);
}

function arrange() {
  const hadFocus = tree.contains(document.activeElement);
  const planned = plan();
  setPositions(planned);
  const keys = new Set(planned.map(item => item.key));
  const before = items.findIndex(row => row.key === active);
  const opensAll = Boolean(search.value), lastNew = rows.size + MOST_NEW_ROWS;
  items = [];
  for (const item of planned) {
    if (!rows.has(item.key) && rows.size >= lastNew) { schedule(true); break; }  // the rest in the next frames
    const row = rows.get(item.key) ?? makeRow(item.key);
    if (row.level !== item.depth + 1) row.cells.name.style.paddingLeft = `${item.depth * 16}px`;
    setAria(row, "level", item.depth + 1);
    setAria(row, "posinset", item.position);
    setAria(row, "setsize", item.size);
    if (row.isFolder) setAria(row, "expanded", !closed.has(row.path) || opensAll);
    if (row.name !== item.text) row.cells.name.textContent = safe(row.name = item.text);
    items.push(row);
  }
  for (const row of [...rows.values()]) if (!keys.has(row.key)) { row.box.remove(); dropRow(row); }
  let at = tree.firstChild;
  for (const {box} of items) {
    if (box !== at && at && at.nextSibling === box) { at.remove(); at = box; }
    if (box === at) at = at.nextSibling; else tree.insertBefore(box, at);
  }
  if (!keys.has(active)) active = items.length ? items[Math.min(Math.max(before, 0), items.length - 1)].key : null;
  focusActive(hadFocus && document.activeElement !== search);
}

// Lets the active row have the focus by Tab, and no other.
function focusActive(takesFocus) {
  const row = rows.get(active);
  if (reachable !== row) {
    if (reachable) reachable.box.tabIndex = -1;
    if (row) row.box.tabIndex = 0;
    reachable = row;
  }
  if (row && takesFocus && !row.box.contains(document.activeElement)) row.box.focus({preventScroll: true});
}

// Ages pass the threshold of a filter without an event.
setInterval(() => { if (isFiltered()) schedule(true); }, 1000);

function draw() {
  isScheduled = false;
  const isByHost = $("view").value === "hosts";
  tree.hidden = $("titles").hidden = isByHost;
  $("hosts").hidden = !isByHost;
  for (const id of ["held", "waited", "dead", "free"]) $(id).disabled = isByHost;
  if (!isSorted) { isSorted = true; if (isByHost) showHosts(); else arrange(); }
  for (const path of changed) {
    const row = rows.get("l" + path);
    if (row) showLock(row);
  }
  changed.clear();
  showCounts();
  showScope(isByHost);
}

function schedule(sorts) {
  if (sorts) isSorted = false;
  if (!isScheduled) { isScheduled = true; requestAnimationFrame(draw); }
}

// The sums are those of all locks, also of those that the stream leaves out.
function showCounts() {
  let frees = 0;
  for (const lock of locks.values()) frees += isFree(lock);
  show($("frees"), frees ? `(${number(frees)})` : "");
  show($("heldOver"), beat ? duration(beat.held_over_ms) : "");
  show($("waitedOver"), beat ? duration(beat.waited_over_ms) : "");
  const counts = $("counts");
  counts.replaceChildren();
  if (!beat || beat.as_of_ms === null) return;
  const add = (count, text, className) => {
    const part = element("span", className, counts);
    element("b", "", part).textContent = number(count);
    part.append(` ${text}  `);
  };
  add(beat.locks, beat.locks === 1 ? "lock" : "locks"); add(beat.held, "held"); add(beat.waiting, "waiting");
  const {deadlocks, possible_deadlocks: possible} = beat;
  if (deadlocks) add(deadlocks, deadlocks === 1 ? "deadlock" : "deadlocks", "cycles");
  if (possible) add(possible, possible === 1 ? "possible deadlock" : "possible deadlocks", "");
}

// Says which part of the locks the rows are.
function showScope(isByHost) {
  const all = number(beat?.locks ?? 0), words = search.value.trim();
  let text = "";
  if (isAnswered()) {
    const total = number(found.all), shown = number(found.shown);
    if (words) text = `${number(found.matching)} of ${total} ${found.all === 1 ? "lock" : "locks"} match`;
    if (found.shown < found.matching) {
      const which = {tree: "the most important", oldest: "oldest holds first", queue: "longest queues first"}[order.value];
      text = words ? `${text}: ${shown} are shown, ${which}` : `${shown} of ${total} locks are shown, ${which}`;
    }
    if (problem) text += `, as of ${clock(found.as_of_ms)}`;  // older than the header says
  } else if (isCut()) {
    text = `${number(beat.shown)} of ${all} locks are shown, chosen by deadlocks, oldest holds and longest waits`;
    if (queryOf()) text = problem ? `only the ${number(beat.shown)} shown of ${all} locks are searched and sorted` : `searching all ${all} locks`;
  }
  if (isByHost) text = [text, hostsLack()].filter(Boolean).join("; ");
  show($("scope"), text);
  $("scope").hidden = text === "";
  if (isByHost) return;  // showHosts() says whether it is empty
  const hasFilter = isFiltered() || $("host").value !== "";
  const isWaiting = isCut() && queryOf() && !isAnswered();
  const noMatch = `No lock of ${all} matches${hasFilter ? " and passes the filters" : ""}.`;
  $("empty").hidden = items.length > 0;
  show($("empty"), isWaiting ? problem ? `No match among the ${number(beat.shown)} shown locks.` : "Searching." : words && beat ? noMatch
       : hasFilter ? "No lock passes the filters." : "No lock.");
}
