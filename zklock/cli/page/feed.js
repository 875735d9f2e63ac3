// SPDX-License-Identifier: Apache-2.0
// Events of the server, and queries, if the stream leaves locks out.
// Returns the query for what is searched and sorted; "" if the stream is enough.
function queryOf() {
  const words = search.value.toWellFormed().split(/\s+/).filter(Boolean).join(" ");
  if (!isCut() || (!words && order.value === "tree")) return "";
  return `search=${encodeURIComponent(words)}&sort=${SORTS[order.value]}`;
}

const isAnswered = () => found !== null && found.query === queryOf();

// Asks the server, unless it was asked for this query at the last pass.
function ask() {
  const query = queryOf();
  if (!query) { found = null; problem = ""; return; }
  if (asked || (isAnswered() && found.as_of_ms === beat.as_of_ms)) return;
  asked = query;
  fetchFound(query).then(answer => { found = answer; problem = ""; }, error => { problem = error.message; }).then(() => {
    asked = "";
    if (query !== queryOf()) ask();  // the viewer has typed on
    if (found) for (const lock of found.locks) changed.add(lock.path);
    showLink();
    schedule(true);
  });
}

async function fetchFound(query) {
  const reply = await fetch(`api/locks?${query}`, {signal: AbortSignal.timeout(ANSWER_MS)}).catch(() => { throw new Error("zklock serve has not answered; the page asks again"); });
  if (!reply.ok) throw new Error((await reply.text()).trim());
  const answer = await reply.json();
  answer.locks.forEach(prepare);
  return {...answer, query, byPath: new Map(answer.locks.map(lock => [lock.path, lock]))};
}

// After a pause of the typing.
function askSoon() {
  clearTimeout(typing);
  typing = setTimeout(() => onChoice(false), TYPING_MS);
  schedule(true);
}

const earliest = times => times.reduce((a, b) => Math.min(a, b ?? Infinity), Infinity);

// Adds what compare() needs.
function prepare(lock) {
  lock.sort = lock.path.replaceAll("/", "\u0000");  // so that the children of /a precede /a-b
  // Without the time of the grant, the time in the queue counts for other libraries only.
  lock.alertSince = lock.holders.some(h => h.leader) ? Infinity : earliest(lock.holders.map(h => h.held_since_ms ?? (h.library === "zklock" ? null : h.since_ms)));
  lock.waitSince = earliest(lock.queue.map(w => w.since_ms));
  const isElection = lock.holders.some(h => h.leader) || lock.queue.some(c => c.candidate);
  lock.waitAlertSince = isElection ? Infinity : lock.waitSince;
}

function remove(path) {
  locks.delete(path);
  changed.add(path);
}

function store(lock) {
  prepare(lock);
  locks.set(lock.path, lock);
  changed.add(lock.path);
}

function connect() {
  const source = new EventSource("events");
  const on = (name, handle) => source.addEventListener(name, event => {
    heardAt = performance.now();
    refusal = "";
    handle(JSON.parse(event.data));
    showLink();
  });
  on("hello", data => { incoming = new Set(); root = data.root; show($("root"), safe(root)); document.title = `zklock ${safe(root)}`; });
  on("change", data => {
    const isNew = $("view").value === "hosts" || data.removed.length > 0 || order.value !== "tree" || search.value ||
                  data.locks.some(lock => !locks.has(lock.path) || isFree(locks.get(lock.path)) !== isFree(lock));
    for (const lock of data.locks) { store(lock); if (incoming) incoming.add(lock.path); }
    for (const path of data.removed) remove(path);
    schedule(isNew);
  });
  on("beat", data => {
    // A beat that follows the changes of a pass ends the first view of this stream.
    const isNew = incoming !== null && data.as_of_ms !== null;
    if (isNew) {
      for (const path of [...locks.keys()]) if (!incoming.has(path)) remove(path);
      incoming = null;
    }
    const wasCut = isCut();
    beat = data;
    beatAt = performance.now();
    ask();
    for (const path of opened) if (!lockAt(path)) changed.add(path);  // it may be known now, or not any more
    schedule(isNew || wasCut !== isCut());
  });
  source.addEventListener("error", async () => {
    if (source.readyState !== EventSource.CLOSED) return;
    // The browser ends a stream that was refused, and does not say why.
    refusal = await fetch("healthz").then(() => "the server refuses the stream: it may have too many viewers", () => "");
    showLink();
    setTimeout(connect, 3000);
  });
}

// Says whether the data are live; the page is grey if not.
function showLink() {
  const link = $("link"), silent = performance.now() - heardAt > SILENCE_MS;
  const asOf = beat && beat.as_of_ms !== null ? clock(beat.as_of_ms) : null;
  const late = beat && beat.as_of_ms !== null && now() - beat.as_of_ms > lateAfter() + SILENCE_MS;
  // After a restart of the server, the locks are old until its first pass has ended.
  const isOff = silent || !beat || !beat.connected || late || (beat.as_of_ms === null && locks.size > 0);
  show(link, silent && !beat ? "connecting" : silent || late ? `no data since ${asOf ?? "the start"}`
       : beat && !beat.connected ? "no connection to ZooKeeper" : asOf ? `as of ${asOf}` : "first pass runs");
  link.classList.toggle("off", Boolean(isOff));
  document.body.classList.toggle("stale", Boolean(isOff && locks.size));
  const notices = refusal ? [refusal] : [];
  if (beat && beat.error) notices.push(beat.error);
  if (problem) notices.push(problem);
  if (beat && beat.unreadable) notices.push(`${beat.unreadable} paths are not read`);
  $("notice").hidden = notices.length === 0;
  show($("notice"), safe(notices.join("; ")));
}

setInterval(() => { showLink(); for (const row of visible) showAges(row); }, 1000);
