// SPDX-License-Identifier: Apache-2.0
// The past of the locks: a bar in each row, and the timeline of an open lock. The server sends the
// times of all holds that it remembers, and says more about one lock on request: "api/history".
const SPANS = {"10m": 600e3, "1h": 3600e3, "6h": 6 * 3600e3, "1d": 24 * 3600e3};
const STEPS = [30e3, 60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3, 3 * 3600e3, 6 * 3600e3];  // between two marks of the time
const BAR_PARTS = 240;      // so many steps a bar moves, from its right end to its left
const ROUGH_MS = 10e3;    // a time that is less exact is shown as two times
const MOST_LANES = 12;      // holds at the same time that the timeline draws
const pasts = new Map();    // path of an open lock -> {answer, problem, asked, isAsking}; asked: the lock at the last request

const spanMs = () => SPANS[$("span").value];
const asOf = () => beat?.as_of_ms ?? now();
const lateAfter = () => 3 * (beat.interval_ms + beat.pass_ms);  // the age of a pass from which the next one is late
const remembers = () => beat?.history?.most > 0;
const isFree = lock => lock.holding === 0 && lock.waiting === 0 && !lock.delay && !lock.isUnknown;

// The part of time that is drawn. It moves in steps, so that little changes from second to second.
function drawnTime() {
  const step = spanMs() / BAR_PARTS, to = Math.ceil(now() / step) * step;
  return {from: to - spanMs(), to, x: ms => (ms - to + spanMs()) / spanMs()};
}

// Times at which other holds than the known ones may have existed. `spans`: [begin, seen, ended]. If a
// hold lasts, `seen` and `ended` are null. If only `ended` is null, the hold may last, but it was not seen lately.
function unknownTimes(since, spans) {
  const {since_ms, gaps_ms} = beat.history;
  return [[-Infinity, Math.max(since ?? 0, since_ms)], ...gaps_ms, [asOf(), Infinity],
          ...spans.filter(([, seen]) => seen !== null).map(([, seen, ended]) => [seen, ended ?? Infinity])];
}

// Whether no pass saw the lock shortly before a hold was seen to begin: it may have begun earlier.
const isUnseenBefore = (ms, since, gaps) =>
  ms <= Math.max(since ?? 0, beat.history.since_ms) || gaps.some(([from, to]) => from < ms && ms <= to);

// Returns the outline of these times in a box of 1000 x 1.
function outline(times, {from, to, x}) {
  return times.filter(([begin, end]) => end > from && begin < to).map(([begin, end]) => {
    const left = 1000 * Math.max(0, x(begin)), width = Math.max(6, 1000 * Math.min(1, x(end)) - left);
    return `M${left.toFixed(1)} 0h${width.toFixed(1)}v1h-${width.toFixed(1)}z`;
  }).join("");
}

function svgElement(name, className, parent) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  if (className) made.setAttribute("class", className);
  parent?.append(made);
  return made;
}

function makeBar(cell) {
  const svg = svgElement("svg", "", cell);
  svg.setAttribute("viewBox", "0 0 1000 1");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  for (const part of ["unknown", "hold", "delay"]) svgElement("path", part, svg);
}

function showPastBar(cell, lock) {
  if (!remembers()) return;
  const time = drawnTime(), isLoaded = lock.past !== undefined, spans = lock.past ?? [], end = span => span[1] ?? asOf();
  const timesOf = kind => spans.filter(span => span[3] === kind).map(span => [span[0], end(span)]);
  const parts = [isLoaded ? unknownTimes(lock.since_ms, spans) : [[-Infinity, Infinity]], timesOf(0), timesOf(1)];
  parts.forEach((times, i) => {
    const path = cell.firstChild.children[i], text = outline(times, time);
    if (path.getAttribute("d") !== text) path.setAttribute("d", text);
  });
  const inTime = spans.filter(span => end(span) > time.from), lost = inTime.filter(span => span[3] === 1).length;
  const text = !isLoaded ? "past not loaded" : `${counted(inTime.length - lost, "hold", "holds")} seen in ${$("span").selectedOptions[0].text}` +
               (lost ? `, ${counted(lost, "lock delay", "lock delays")}` : "");
  if (cell.title === text) return;
  cell.title = text;
  cell.setAttribute("role", "img");
  cell.setAttribute("aria-label", text);
}

// ---- the timeline of an open lock

const RETRY_MS = 5000;  // after a request that has failed

// Asks the server for what it remembers, if the lock has changed since, or the last request has failed.
async function askPast(path) {
  const lock = lockAt(path) ?? null, past = pasts.get(path) ?? {answer: null, problem: "", asked: undefined, isAsking: false, nextAt: 0};
  pasts.set(path, past);
  if (past.isAsking || performance.now() < past.nextAt || (past.asked === lock && !past.problem)) return;
  past.asked = lock;
  past.isAsking = true;
  try {
    const reply = await fetch(`api/history?path=${encodeURIComponent(path)}`, {signal: AbortSignal.timeout(ANSWER_MS)});
    const text = await reply.text();
    past.problem = reply.ok ? "" : text.trim();
    if (reply.ok) past.answer = JSON.parse(text);
  } catch { past.problem = "zklock serve has not answered"; }
  past.isAsking = false;
  past.nextAt = past.problem ? performance.now() + RETRY_MS : 0;
  const row = rows.get("l" + path);
  if (!row?.past || pasts.get(path) !== past) return;
  drawPast(row);
  if ((lockAt(path) ?? null) !== past.asked) askPast(path);
}

const describe = span => span.holder ? person(span.holder) : "lock delay: a hold was lost";

// Whether the newest pass saw the hold. Otherwise it ended, or it may last.
const lasts = (span, past) => span.ended_ms === null && span.seen_ms >= past.as_of_ms;

const lastSeen = (span, past) => lasts(span, past) ? asOf() : Math.max(span.begin_ms, span.seen_ms);

const earlier = (span, past) => !span.begin_exact && isUnseenBefore(span.begin_ms, past.since_ms, past.gaps_ms) ? "≥ " : "";

// Two durations if the end is known roughly only.
function heldFor(span, past) {
  const most = (span.ended_ms ?? now()) - span.begin_ms, least = lasts(span, past) ? most : span.seen_ms - span.begin_ms;
  return earlier(span, past) + (most - least > ROUGH_MS ? `${duration(least)} to ${duration(most)}` : duration(most));
}

function untilText(span, past) {
  if (span.ended_ms === null) return lasts(span, past) ? "now" : `${when(span.seen_ms)}, may last`;
  return (span.ended_ms - span.seen_ms > ROUGH_MS ? `${when(span.seen_ms)} to ` : "") + when(span.ended_ms);
}

const dateText = ms => ms === null ? "" : new Date(ms).toLocaleString([], {hour12: false, dateStyle: "medium", timeStyle: "medium"});
// The time, with its date unless that is today.
const when = ms => new Date(ms).toDateString() === new Date(now()).toDateString() ? clock(ms) : dateText(ms);

function showPast(row) {
  if (!row.past || !remembers()) return;
  askPast(row.path);
  drawPast(row);
}

function drawPast(row) {
  const {answer, problem} = pasts.get(row.path), box = row.past;
  if (box.answer === answer && box.problem === problem) return moveTimeline(row);
  Object.assign(box, {answer, problem});
  box.replaceChildren();
  row.ages = row.ages.filter(([cell]) => cell.isConnected);
  if (answer) drawAnswer(row, answer);
  if (problem) element("p", "problem", box).textContent = safe(`The past is not ${answer ? "renewed" : "loaded"}: ${problem}`);
}

function drawAnswer(row, past) {
  element("div", "timeline", row.past);
  moveTimeline(row);
  const key = element("p", "key", row.past);
  for (const [name, text] of [["hold", "held"], ["delay", "lock delay after a lost hold"], ["unknown", "unknown"]]) {
    element("i", name, key);
    key.append(` ${text} `);
  }
  const {since_ms, most_of_lock, most} = beat.history, least = duration(lateAfter() + 999);
  element("p", "", row.past).textContent = `Known since ${when(Math.max(past.since_ms, since_ms))}: at most ${number(most_of_lock)} holds of a lock, ` +
    `${number(most)} of all. Holds of less than ${least} may be missing. A lock delay says that a hold was lost; otherwise, how a hold ended is not known.`;
  listPast(element("table", "", row.past), row, past);
}

// Draws the timeline anew, because time has passed.
function moveTimeline(row) {
  const {answer, firstChild: box} = row.past;
  if (!answer) return;
  box.replaceChildren();
  drawTimeline(box, answer, drawnTime());
}

function drawTimeline(box, past, time) {
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", `Timeline of ${counted(past.spans.length, "hold", "holds")}; the table below has them`);
  const place = (part, begin, end) => {
    part.style.left = `${100 * Math.max(0, time.x(begin))}%`;
    part.style.width = `${100 * (Math.min(1, time.x(end)) - Math.max(0, time.x(begin)))}%`;
  };
  const drawn = (begin, end) => end > time.from && begin < time.to;
  const lanes = [], end = span => lastSeen(span, past);
  let hidden = 0;
  for (const span of [...past.spans].sort((a, b) => a.begin_ms - b.begin_ms)) {
    if (!drawn(span.begin_ms, end(span))) continue;
    let lane = lanes.findIndex(last => last <= span.begin_ms);
    if (lane < 0) lane = lanes.length;
    if (lane >= MOST_LANES) { ++hidden; continue; }
    lanes[lane] = end(span);
    const part = element("span", span.holder ? "hold" : "delay", box);
    place(part, span.begin_ms, end(span));
    part.style.top = `${lane * 22}px`;
    if (time.x(end(span)) - time.x(span.begin_ms) > 0.05) part.textContent = safe(describe(span));
    part.title = safe(`${describe(span)}\nfrom ${dateText(span.begin_ms)} for ${heldFor(span, past)}; at most ${span.most_waiting} seen waiting`);
  }
  if (hidden) {
    const part = element("span", "more", box);
    part.textContent = `${counted(hidden, "hold is", "holds are")} in the table only`;
    part.style.top = `${lanes.length * 22}px`;
  }
  const height = Math.max(1, lanes.length + (hidden > 0)) * 22;
  for (const [begin, until] of unknownTimes(past.since_ms, past.spans.map(s => [s.begin_ms, lasts(s, past) ? null : s.seen_ms, s.ended_ms]))) {
    if (!drawn(begin, until)) continue;
    const part = element("span", "unknown");
    place(part, begin, until);
    box.prepend(part);
  }
  const step = STEPS.find(ms => spanMs() / ms <= 8) ?? STEPS.at(-1), zone = new Date().getTimezoneOffset() * 60e3;
  for (let at = Math.ceil((time.from - zone) / step) * step + zone; at < time.to; at += step) {
    const mark = element("span", "mark", box);
    mark.style.left = `${100 * time.x(at)}%`;
    mark.textContent = new Date(at).toLocaleTimeString([], {hour12: false, hour: "2-digit", minute: "2-digit", ...step < 60e3 && {second: "2-digit"}});
  }
  box.style.height = `${height + 18}px`;
}

function listPast(table, row, past) {
  addLine(table, ["From", "Until", "For", "Most seen waiting", "Holder", "Note", "Token"], "th");
  for (const span of [...past.spans].reverse()) {
    const texts = [when(span.begin_ms), untilText(span, past), heldFor(span, past), span.most_waiting, describe(span), span.holder?.note, span.holder?.token];
    const cells = addLine(table, texts);
    table.lastChild.classList.toggle("delay", !span.holder);
    if (lasts(span, past)) row.ages.push([cells[2], span.begin_ms, earlier(span, past)]);
  }
}
