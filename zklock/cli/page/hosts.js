// SPDX-License-Identifier: Apache-2.0
// The view by host and application: what each holds, and what waits for it. It is for a host that is to
// be drained. It has the locks that the page receives and that pass the filters and the search.

let hostAges = [];  // cells of ages: [cell, since when, prefix]
const showHostAges = () => { for (const [cell, from, prefix] of hostAges) show(cell, ageText(from, now(), prefix)); };
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

function showHosts() {
  const box = $("hosts"), had = document.activeElement?.closest?.("#hosts [data-key]")?.dataset.key;
  const wasOpen = new Map([...box.children].map(part => [part.dataset.host, part.open])), wanted = $("host").value;
  box.replaceChildren();
  hostAges = [];
  for (const host of byHost()) {
    const part = element("details", "host", box), head = element("summary", "", part);
    part.dataset.host = host.name;
    part.open = wasOpen.get(host.name) ?? wanted === host.name;
    head.dataset.key = host.name;
    element("b", "", head).textContent = safe(host.name);
    element("span", "", head).textContent = hostSummary(host);
    if (part.open) showHost(part, host);
    else part.addEventListener("toggle", () => part.open && part.children.length === 1 && showHost(part, host), {once: true});
  }
  show($("empty"), "No contender.");
  $("empty").hidden = box.children.length > 0;
  [...box.querySelectorAll("[data-key]")].find(part => part.dataset.key === had)?.focus({preventScroll: true});
}

function showHost(part, host) {
  if (host.known && $("host").value !== host.name) {
    const only = element("button", "", part);
    only.type = "button";
    only.textContent = "Only this host";
    only.addEventListener("click", () => { $("host").value = host.name; onChoice(true); });
  }
  const table = element("table", "", part), head = element("tr", "", table);
  for (const title of ["State", "Application", "Lock", "Kind", "For", "Waiting", "Process", "Note"]) element("th", "", head).textContent = title;
  const nameOf = ({c}) => `${c.application ?? ""}/${c.label ?? ""}`;
  const add = (state, entry) => {
    const {lock, c} = entry, line = element("tr", "", table);
    const since = state === "waits" ? c.since_ms : c.held_since_ms ?? c.since_ms;
    const behind = state === "waits" ? "" : String(lock.waiting || "");
    const texts = [state, [c.application, c.label].filter(Boolean).join("/"), "", kindOf(c), "", behind, c.pid === null ? "" : `pid ${c.pid}`, c.note];
    const cells = texts.map(text => {
      const cell = element("td", "", line);
      cell.textContent = safe(text ?? "");
      return cell;
    });
    const link = element("a", "", cells[2]);
    link.textContent = safe(lock.path);
    link.href = "#" + new URLSearchParams({lock: lock.path});
    link.dataset.key = `${host.name} ${state} ${lock.path} ${c.node}`;
    hostAges.push([cells[4], since, state !== "waits" && c.held_since_ms === null ? "≤ " : ""]);
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
