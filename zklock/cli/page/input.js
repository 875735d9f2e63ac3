// SPDX-License-Identifier: Apache-2.0
// Keys and clicks.
function toggle(row, isOpen) {
  const set = row.isFolder ? closed : opened, has = set.has(row.path);
  const wants = isOpen === undefined ? !has : row.isFolder ? !isOpen : isOpen;
  if (has === wants) return;
  if (wants) set.add(row.path); else set.delete(row.path);
  if (row.isFolder) return schedule(true);
  pasts.delete(row.path);
  changed.add(row.path);
  onChoice(true);
}

function select(key, takesFocus = true) {
  active = key;
  focusActive(takesFocus);
  if (takesFocus) rows.get(key)?.box.scrollIntoView({block: "nearest"});
}

// Shows the row of a lock, whatever hides it.
function reveal(path) {
  $("view").value = "locks";
  search.value = $("host").value = "";
  for (const id of ["held", "waited", "dead"]) $(id).checked = false;
  closed.clear();
  active = "l" + path;
  if (isCut()) order.value = "tree";  // the stream has the deadlocks, and another order may not
  onChoice(true);
  draw();
  if (rows.has(active)) select(active);
}

function move(step) {
  const at = items.findIndex(row => row.key === active);
  const next = items[Math.min(Math.max(at + step, 0), items.length - 1)];
  if (next) select(next.key);
}

function sortBy(value) {
  order.value = value;
  onChoice(true);
}

function endSearch() {
  search.value = "";
  onChoice(true);
}

for (const name of ["pointerover", "focusin"])
  tree.addEventListener(name, event => showActions(rows.get(event.target.closest(".row")?.key)));
tree.addEventListener("click", event => {
  const box = event.target.closest(".row");
  if (!box || event.target.closest(".detail, .actions")) return;
  select(box.key);
  toggle(rows.get(box.key));
});
tree.addEventListener("focusin", event => {
  const box = event.target.closest(".row");
  if (box && box.key !== active) select(box.key, false);
});
search.addEventListener("input", askSoon);
for (const control of Object.values(controls)) control.addEventListener("change", () => onChoice(true));
$("keys").addEventListener("click", () => $("help").showModal());
$("close").addEventListener("click", () => $("help").close());

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey || $("help").open) return;
  if (event.target === search || event.target === order) {
    if (event.key === "Escape") { endSearch(); select(active); }
    else if (event.key === "Enter" || (event.key === "ArrowDown" && event.target === search)) select(active);
    else return;
    event.preventDefault();
    return;
  }
  if (event.target.id === "host") return;
  if ((event.target.closest?.("#filters, #view") || $("view").value === "hosts") && event.key !== "/" && event.key !== "?") return;
  const row = rows.get(active), isOnButton = event.target.closest && event.target.closest("button");
  const keys = {
    ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1),
    PageDown: () => move(20), PageUp: () => move(-20), Home: () => move(-items.length), End: () => move(items.length),
    ArrowRight: () => row && toggle(row, true), ArrowLeft: () => row && toggle(row, false),
    c: () => row && !row.isFolder && copyCommand(`zklock ls ${quoted(row.path)}`),
    r: () => row && !row.isFolder && copyCommand(`zklock release ${quoted(row.path)}`),
    "/": () => search.focus(), t: () => sortBy("tree"), o: () => sortBy("oldest"), q: () => sortBy("queue"),
    "?": () => $("help").showModal(), Escape: endSearch,
  };
  if (!isOnButton) keys.Enter = keys[" "] = () => row && toggle(row);
  if (!Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
});

readLink();
connect();
