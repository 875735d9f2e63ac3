// SPDX-License-Identifier: Apache-2.0
// The locks that the page has, and texts about them.
const $ = id => document.getElementById(id);
const tree = $("tree"), search = $("search"), order = $("order");
const LIBRARIES = {curator: "Curator", kazoo: "Kazoo", unknown: "unknown library"};
const MOST_SEGMENTS = 20, SILENCE_MS = 6000, TYPING_MS = 250, ANSWER_MS = 20000;
const MOST_NEW_ROWS = 250;  // made in one frame
const SORTS = {tree: "path", oldest: "held", queue: "waiting"};  // order of the page -> "sort" of the server

// The model: locks by path, and the time of the server.
const locks = new Map();    // path -> lock of the server
let found = null;           // the answer to the last query: {query, as_of_ms, all, matching, locks, byPath}
const rows = new Map();     // key -> row; the key of a folder is "d" + path, of a lock "l" + path
const closed = new Set();   // paths of closed folders
const opened = new Set();   // paths of locks whose contenders are shown
const visible = new Set();  // rows on the screen
let items = [];             // rows in their order
let active = null;          // key of the row that has the focus, or would get it
let reachable = null;       // row that Tab reaches
let root = "/", incoming = null, beat = null, beatAt = 0, heardAt = 0;
let isSorted = false, isScheduled = false;
let refusal = "";           // why the stream does not begin
let problem = "";           // why the query was not answered
let asked = "", typing = 0; // query that is sent; timer of the next one
const changed = new Set();  // paths of locks to be shown again

// Characters without a shape, and those that turn the direction of text.
const HIDDEN =
  /[\0-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu;
const safe = text => String(text).replace(HIDDEN, "?");
const now = () => beat ? beat.now_ms + performance.now() - beatAt : Date.now();
const counted = (count, one, many) => `${count} ${count === 1 ? one : many}`;
const numbers = new Intl.NumberFormat("en"), clocks = new Intl.DateTimeFormat([], {hour12: false, timeStyle: "medium"});
const number = count => numbers.format(count);
const clock = ms => clocks.format(ms);

function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  const two = (a, nameOfA, b, nameOfB) => `${a} ${nameOfA}` + (b ? ` ${b} ${nameOfB}` : "");
  if (d) return two(d, "d", h % 24, "h");
  if (h) return two(h, "h", m % 60, "m");
  return m ? two(m, "m", s % 60, "s") : `${s} s`;
}

// The session, the token and the znode are in the details only.
function person(c) {
  if (c.pid === null) return LIBRARIES[c.library] ?? c.library;
  const extra = [c.application, c.label].filter(Boolean).join("/");
  return `${c.host ?? "?"} pid ${c.pid}` + (extra ? ` (${extra})` : "");
}

// What a contender is, and what holds a lock: the names of `zklock ls`. A part of a MultiMutex is
// shown as a mutex, because its znode looks like one.
const isWriter = c => c.access === "exclusive" && c.node.includes("__WRIT__");
function kindOf(c) {
  if (c.candidate) return c.leader ? "leader" : "candidate";
  if (c.access === "shared") return "reader";
  if (c.access === "permits") return counted(c.permits, "permit", "permits");
  if (c.access === "weighted") return `weight ${c.weight}`;
  return isWriter(c) ? "writer" : "mutex";
}
function kindText(lock) {
  const first = lock.holders[0];
  if (first?.leader) return "leader";
  if (lock.permits) return `permits ${lock.permits.held ?? "?"} of ${lock.permits.count ?? "?"}`;
  if (lock.kind !== "shared") return lock.kind ?? "";
  return !first ? "read/write" : isWriter(first) ? "writer" : lock.holding === 1 ? "reader" : `${lock.holding} readers`;
}

// A lock delay runs while a contender waits. The server saw its begin within one pass.
function delayText(lock, t) {
  const whole = `lock delay of ${duration(lock.delay_ms)}`;
  const seen = lock.past?.findLast(([, , ended, isDelay]) => isDelay && ended === null);
  if (!lock.waiting) return `${whole}, while one waits`;
  if (!seen || !isFinite(lock.waitSince)) return whole;
  const left = Math.max(seen[0], lock.waitSince) + lock.delay_ms - t;
  return left > 0 ? `${whole}: about ${duration(left + 999)} left` : `${whole}: ends soon`;
}

// The time since when a lock is held, and a mark: "" for the time of the grant, "≈ " if the server saw
// the hold begin, "≤ " if only the time in the queue is known. null: unknown.
function heldSince(lock) {
  let since = null, mark = "";
  const begins = (lock.past ?? []).filter(([, , ended, isDelay]) => ended === null && !isDelay).map(([begin]) => begin);
  const isSeen = remembers() && begins.length === lock.holding && !begins.some(begin => isUnseenBefore(begin, lock.since_ms, beat.history.gaps_ms));
  for (const h of lock.holders) {
    const at = h.held_since_ms ?? h.since_ms;
    if (at !== null && (since === null || at < since)) [since, mark] = [at, h.held_since_ms === null ? "≤ " : ""];
  }
  return mark && isSeen ? {since: Math.min(...begins), mark: "≈ "} : {since, mark};
}
const ageText = (from, t, prefix) => from === null ? "?" : prefix + duration(t - from);

// The stream is newer than the answer to a query.
const lockAt = path => locks.get(path) ?? found?.byPath.get(path);
// Whether a lock that the server does not send is free: the newest pass has read its path, and no lock is left out.
function isRead(path) {
  const isBelowRoot = path === root || path.startsWith(root === "/" ? "/" : root + "/");
  return beat !== null && beat.as_of_ms !== null && !isCut() && !beat.unreadable && isBelowRoot;
}
// A lock that the page has not received. It is free, or its state is not known.
function absentLock(path) {
  const lock = {path, kind: null, holders: [], queue: [], holding: 0, waiting: 0, permits: null, delay: false,
                foreign: {count: 0}, cycle: "none", cycle_paths: [], isUnknown: !isRead(path)};
  prepare(lock);
  return lock;
}
// Folds ASCII letters only, as the server does.
const folded = text => text.replace(/[A-Z]+/g, capitals => capitals.toLowerCase());
const wordsOf = text => folded(text).split(/\s+/).filter(Boolean);
// Whether the server leaves locks out of the stream.
const isCut = () => beat !== null && beat.shown < beat.locks;

function matches(lock, words) {
  if (words.length === 0) return true;
  lock.text ??= folded([lock.path, ...lock.holders.concat(lock.queue).flatMap(
    c => [c.host, c.application, c.label, c.note, c.owner, c.thread, c.library, c.session])].join("\n"));
  return words.every(word => lock.text.includes(word));
}
