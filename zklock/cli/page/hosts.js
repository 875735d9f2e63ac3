// SPDX-License-Identifier: Apache-2.0
// The view by host and application: what each holds, and what waits for it. It is for a host that is to
// be drained. It has the locks that the page receives and that pass the filters and the search.

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

// A part is made once for each host, and changed only where its host has changed.
function showHosts() {
  const box = $("hosts"), hosts = byHost(), names = new Set(hosts.map(host => host.name));
  for (const [name, part] of hostParts) if (!names.has(name)) { part.remove(); hostParts.delete(name); }
  let at = box.firstChild;
  for (const host of hosts) {
    const part = hostParts.get(host.name) ?? makeHost(host.name);
    part.host = host;
    show(part.firstChild.lastChild, hostSummary(host));
    showHost(part);
    if (part === at) at = at.nextSibling; else box.insertBefore(part, at);
  }
  show($("empty"), "No contender.");
  $("empty").hidden = hosts.length > 0;
}

function makeHost(name) {
  const part = element("details", "host"), head = element("summary", "", part);
  element("b", "", head).textContent = safe(name);
  element("span", "", head);
  part.open = $("host").value === name;
  part.addEventListener("toggle", () => showHost(part));
  hostParts.set(name, part);
  return part;
}

function showHost(part) {
  const {host} = part, known = host.known && $("host").value !== host.name;
  const content = part.open ? JSON.stringify([known, host.holds, host.waits].flat().map(entry => entry.c ? [entry.c, entry.lock.path, entry.lock.waiting] : entry)) : "";
  if (part.content === content) return;
  part.content = content;
  part.lastChild.matches("div") && part.lastChild.remove();
  if (!part.open) return;
  const body = element("div", "", part);
  if (known) {
    const only = element("button", "", body);
    only.type = "button";
    only.textContent = "Only this host";
    only.addEventListener("click", () => { $("host").value = host.name; onChoice(true); });
  }
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
  for (const entry of host.holds.sort(byApplication)) add(entry.c.leader ? "leads" : "holds", entry);
  for (const entry of host.waits.sort(byApplication)) add("waits", entry);
  showHostAges();
}

// The hosts that the filter offers.
function offerHosts() {
  const names = new Set();
  for (const lock of locks.values()) for (const c of [...lock.holders, ...lock.queue]) if (c.host) names.add(c.host);
  $("hostNames").replaceChildren(...[...names].sort().map(name => new Option(name)));
}
$("host").addEventListener("focus", offerHosts);
