// SPDX-License-Identifier: Apache-2.0
// The view by host and application: what each holds, and what waits for it. It is for a host that is to
// be drained. It has the locks that the page receives and that pass the search. Of the filters, only the host counts.

const MOST_HOSTS = 500, MOST_HOST_ROWS = 500;  // further hosts, and rows of a host, are counted only
const hostParts = new Map();  // name -> element: with its host, content, and cells of ages: [cell, since when, prefix]
function showHostAges() {
  for (const part of hostParts.values())
    if (part.open) for (const [cell, from, prefix] of part.ages ?? []) show(cell, ageText(from, now(), prefix));
}
setInterval(showHostAges, 1000);

// Returns the hosts by name: name -> {name, holds, waits, blocked}. A contender of another library has no host.
function byHost() {
  const hosts = new Map();
  const at = c => {
    const name = c.host ?? `${LIBRARIES[c.library] ?? c.library}, unknown host`;
    if (!hosts.has(name)) hosts.set(name, {name, holds: [], waits: [], blocked: 0, known: c.host !== null});
    return hosts.get(name);
  };
  for (const lock of choose()) {
    for (const c of lock.holders) at(c).holds.push({lock, c});
    for (const c of lock.queue) at(c).waits.push({lock, c});
    for (const name of new Set(lock.holders.map(c => at(c).name))) hosts.get(name).blocked += lock.queue.filter(c => at(c).name !== name).length;
  }
  const wanted = $("host").value;
  return [...hosts.values()].filter(host => !wanted || host.name === wanted).sort((a, b) =>
    b.holds.length - a.holds.length || b.waits.length - a.waits.length || (a.name < b.name ? -1 : 1));
}

function hostSummary({holds, waits, blocked}) {
  const parts = [holds.length && `holds ${number(holds.length)}`, waits.length && `waits for ${number(waits.length)}`].filter(Boolean).join(", ");
  return parts + (blocked ? `; ${number(blocked)} contender${blocked > 1 ? "s" : ""} of other hosts wait${blocked > 1 ? "" : "s"} for what it holds` : "");
}

// Returns what the view lacks, so that an empty view does not pass for a host without contenders.
function hostsLack() {
  if (!beat || beat.as_of_ms === null) return "no pass has ended yet";
  let cut = 0, nameless = 0;
  for (const lock of locks.values()) {
    cut += lock.holders_cut || lock.queue_cut;
    nameless += [...lock.holders, ...lock.queue].filter(c => c.host === null).length;
  }
  const parts = [];
  if (isCut()) parts.push(`${counted(beat.locks - beat.shown, "lock is", "locks are")} left out`);
  if (cut) parts.push(`${counted(cut, "lock has", "locks have")} more contenders than are listed`);
  if (nameless && $("host").value) parts.push(`${counted(nameless, "contender", "contenders")} of unknown hosts`);
  if (beat.unreadable) parts.push(`${counted(beat.unreadable, "path is", "paths are")} not read`);
  return parts.length ? `not covered: ${parts.join(", ")}` : "";
}

// A part is made once for each host, and changed only where its host has changed.
function showHosts() {
  const all = byHost(), hosts = all.slice(0, MOST_HOSTS), focus = document.activeElement;
  const box = $("hosts"), names = new Set(hosts.map(host => host.name));
  for (const [name, part] of hostParts) if (!names.has(name)) { part.remove(); hostParts.delete(name); }
  let at = box.firstChild;
  for (const host of hosts) {
    const part = hostParts.get(host.name) ?? makeHost(host.name);
    part.host = host;
    show(part.firstChild.lastChild, hostSummary(host));
    part.children[1].hidden = !host.known || $("host").value === host.name;
    showHost(part);
    if (part === at) at = at.nextSibling; else box.insertBefore(part, at);
  }
  if (focus !== document.activeElement && focus.isConnected) focus.focus({preventScroll: true});  // its part has moved
  const more = all.length - hosts.length;
  const none = search.value.trim() ? "No contender of the locks that match" : "No contender";
  show($("empty"), more ? `and ${counted(more, "host", "hosts")} more` : [none, hostsLack()].filter(Boolean).join("; ") + ".");
  $("empty").hidden = hosts.length > 0 && !more;
}

function makeHost(name) {
  const part = element("details", "host"), head = element("summary", "", part);
  element("b", "", head).textContent = safe(name);
  element("span", "", head);
  const only = element("button", "", part);
  only.type = "button";
  only.textContent = "Only this host";
  only.addEventListener("click", () => { $("host").value = name; onChoice(true); });
  element("div", "", part);
  part.open = $("host").value === name;
  part.addEventListener("toggle", () => showHost(part));
  hostParts.set(name, part);
  return part;
}

function showHost(part) {
  const {host} = part;
  const content = part.open ? JSON.stringify([...host.holds, null, ...host.waits].map(entry => entry && [entry.c, entry.lock.path, entry.lock.waiting])) : "";
  const selection = document.getSelection(), isSelected = !selection.isCollapsed && part.lastChild.contains(selection.anchorNode);
  if (part.content === content || (isSelected && part.open)) return;  // a new table would end the selection
  part.content = content;
  const body = part.lastChild, hadFocus = body.contains(document.activeElement) ? document.activeElement.hash : "";
  body.replaceChildren();
  if (!part.open) return;
  const table = element("table", "", body);
  addLine(table, ["State", "Application", "Lock", "Kind", "For", "Waiting", "Process", "Note"], "th");
  part.ages = [];
  const nameOf = ({c}) => `${c.application ?? ""}/${c.label ?? ""}`;
  const add = (state, {lock, c}) => {
    const since = state === "waits" ? c.since_ms : c.held_since_ms ?? c.since_ms;
    const behind = state === "waits" ? "" : String(lock.waiting || "");
    const application = [c.application, c.label].filter(Boolean).join("/"), process = c.pid === null ? "" : `pid ${c.pid}`;
    const cells = addLine(table, [state, application, "", kindOf(c), "", behind, process, c.note]);
    const link = element("a", "", cells[2]);
    link.textContent = safe(lock.path);
    link.href = "#" + new URLSearchParams({lock: lock.path});
    part.ages.push([cells[4], since, state !== "waits" && c.held_since_ms === null ? "≤ " : ""]);
  };
  const byApplication = (a, b) => nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : byPath(a.lock, b.lock);
  const holds = host.holds.sort(byApplication).slice(0, MOST_HOST_ROWS);
  const waits = host.waits.sort(byApplication).slice(0, MOST_HOST_ROWS - holds.length);
  for (const entry of holds) add(entry.c.leader ? "leads" : "holds", entry);
  for (const entry of waits) add("waits", entry);
  const more = host.holds.length + host.waits.length - holds.length - waits.length;
  if (more) element("p", "", body).textContent = `and ${number(more)} more`;
  if (hadFocus) [...table.querySelectorAll("a")].find(link => link.hash === hadFocus)?.focus({preventScroll: true});
  showHostAges();
}

// The hosts that the filter offers.
function offerHosts() {
  const names = new Set();
  for (const lock of locks.values()) for (const c of [...lock.holders, ...lock.queue]) if (c.host) names.add(c.host);
  $("hostNames").replaceChildren(...[...names].sort().map(name => new Option(name)));
}
$("host").addEventListener("focus", offerHosts);
