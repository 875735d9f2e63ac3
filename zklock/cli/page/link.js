// SPDX-License-Identifier: Apache-2.0
// The address of a view. The part behind "#" has what the viewer chose and the open locks, so back
// and forward work, and a copied address shows the same to another viewer.
const controls = {view: $("view"), search, sort: order, past: $("span"), host: $("host"), held: $("held"), waited: $("waited"),
                  deadlocks: $("dead"), free: $("free")};
const valueOf = control => control.type === "checkbox" ? String(control.checked) : control.value;
const defaults = Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, valueOf(control)]));

function setControl(control, value) {
  if (control.type === "checkbox") { control.checked = value === "true"; return; }
  const before = control.value;
  control.value = value;
  if (control.tagName === "SELECT" && control.selectedIndex < 0) control.value = before;  // no such choice
}

function link() {
  const fields = new URLSearchParams();
  for (const [name, control] of Object.entries(controls))
    if (valueOf(control) !== defaults[name]) fields.set(name, valueOf(control));
  for (const path of opened) fields.append("lock", path);
  return "#" + fields;
}

// Shows what a control says now. `isStep`: the browser's "back" returns to the view before.
function onChoice(isStep) {
  try {
    if (link() !== (location.hash || "#")) history[isStep ? "pushState" : "replaceState"](null, "", link());
  } catch { /* A browser refuses many changes of the address in a short time. The next choice sets it. */ }
  if (beat) ask();
  visible.forEach(showAges);
  schedule(true);
}

// Returns the locks of an address. No znode has control characters in its path.
const locksOf = fields => fields.getAll("lock").filter(path => /^\/[^\0-\u001f\u007f-\u009f]*$/.test(path));

function readLink() {
  const fields = new URLSearchParams(location.hash.slice(1)), linked = locksOf(fields);
  for (const [name, control] of Object.entries(controls)) setControl(control, fields.get(name) ?? defaults[name]);
  for (const path of [...opened, ...linked]) changed.add(path);
  opened.clear();
  for (const path of linked) opened.add(path);
  active = opened.size ? "l" + [...opened][0] : active;
  pasts.clear();
  if (beat) ask();
  schedule(true);
}

if (innerWidth <= 640) $("filters").open = false;
addEventListener("popstate", readLink);
