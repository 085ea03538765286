// oracle.mjs - what a trace says, worked out from its JSON by the plainest means
//
// Nothing of Heddle is in here: the answers of the server and what the page draws are held against it. Times are integer
// ns; for files whose times are below 2^53 ps, which JSON.parse reads well enough.
import fs from "node:fs";

const toNs = us => Math.round(Number(us) * 1000);

// {slices: [{name, category, pid, tid, start, end, args, index}], counters, instants, flows}; slices in order of start,
// longer ones first. With a base, in µs, times count from there: for files whose times are larger.
export function readChrome(file, base = 0) {
  const json = JSON.parse(fs.readFileSync(file, "utf8"), base ? (key, value) => (key === "ts" ? value - base : value) : undefined);
  const events = Array.isArray(json) ? json : json.traceEvents;
  const trace = {slices: [], counters: [], instants: [], flows: [], events: events.length};
  const open = new Map();
  events.forEach((e, index) => {
    const track = `${e.pid}/${e.tid}`;
    if (e.ph === "B") {
      const slice = {name: e.name, category: e.cat, pid: String(e.pid), tid: String(e.tid), start: toNs(e.ts), end: null,
        args: e.args, index};
      trace.slices.push(slice);
      open.set(track, [...(open.get(track) ?? []), slice]);
    } else if (e.ph === "E") {
      const slice = open.get(track)?.pop();
      if (slice) slice.end = toNs(e.ts);
    } else if (e.ph === "X") {
      const start = toNs(e.ts);
      trace.slices.push({name: e.name, category: e.cat, pid: String(e.pid), tid: String(e.tid), start,
        end: Math.max(start, toNs(e.ts + e.dur)), args: e.args, index});
    } else if (e.ph === "C") {
      trace.counters.push({name: e.name, pid: String(e.pid), time: toNs(e.ts), values: e.args});
    } else if ("iIR".includes(e.ph)) {
      trace.instants.push({name: e.name, pid: String(e.pid), tid: String(e.tid), time: toNs(e.ts)});
    } else if ("stf".includes(e.ph)) {
      trace.flows.push({id: e.id, category: e.cat, phase: e.ph, pid: String(e.pid), tid: String(e.tid), time: toNs(e.ts)});
    }
  });
  for (const s of trace.slices.filter(s => s.end === null)) Object.assign(s, {end: s.start, unended: true});
  trace.slices.sort((a, b) => a.start - b.start || b.end - a.end || a.index - b.index);
  const all = [...trace.slices.flatMap(s => [s.start, s.end]), ...trace.counters.map(c => c.time),
    ...trace.instants.map(i => i.time), ...trace.flows.map(f => f.time)];
  trace.start = all.reduce((a, b) => Math.min(a, b), Infinity);
  trace.end = all.reduce((a, b) => Math.max(a, b), -Infinity);
  return trace;
}

export const onTrack = (trace, pid, tid) =>
  trace.slices.filter(s => s.pid === String(pid) && (tid === undefined || s.tid === String(tid)));

// ns of [from, until) that at least one slice covers.
export function busyTime(slices, from = -Infinity, until = Infinity) {
  let busy = 0, end = from;
  for (const s of slices) {
    const a = Math.max(s.start, end, from), b = Math.min(s.end, until);
    if (b > a) busy += b - a;
    end = Math.max(end, b);
  }
  return busy;
}

// [{start, duration}] of [from, until) that no slice covers.
export function gapsOf(slices, from, until) {
  const gaps = [];
  let end = from;
  for (const s of slices) {
    if (s.end <= from || s.start >= until) continue;
    if (s.start > end) gaps.push({start: end, duration: s.start - end});
    end = Math.max(end, s.end);
  }
  if (end < until) gaps.push({start: end, duration: until - end});
  return gaps;
}

// Time of [from, until) that is a slice's own: not of those within it. `slices` of one track, nested.
export function selfTimes(slices, from = -Infinity, until = Infinity) {
  const self = new Map(), open = [];
  for (const s of slices) {
    while (open.length && open[open.length - 1].end <= s.start) open.pop();
    const own = Math.max(0, Math.min(s.end, until) - Math.max(s.start, from));
    self.set(s, own);
    if (open.length) self.set(open[open.length - 1], self.get(open[open.length - 1]) - own);
    open.push(s);
  }
  return self;
}

// The smallest value that at least this share of all values does not exceed.
export const percentile = (sorted, share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];

const touches = (s, from, until) => s.start < until && (s.end > from || s.start >= from);

// By name, of the slices that touch [from, until): durations whole, total and self of what lies in the range.
// `tracks`: lists of slices, one a track, for self time.
export function tableOf(tracks, from, until) {
  const rows = new Map();
  for (const slices of tracks) {
    const self = selfTimes(slices, from, until);
    for (const s of slices) {
      if (!touches(s, from, until)) continue;
      const row = rows.get(s.name) ?? {text: s.name, durations: [], total: 0, self: 0};
      row.durations.push(s.end - s.start);
      row.total += Math.max(0, Math.min(s.end, until) - Math.max(s.start, from));
      row.self += self.get(s);
      rows.set(s.name, row);
    }
  }
  return [...rows.values()].map(({text, durations, total, self}) => {
    durations.sort((a, b) => a - b);
    return {text, count: durations.length, total, self, mean: durations.reduce((a, b) => a + b, 0) / durations.length,
      p50: percentile(durations, 0.5), p99: percentile(durations, 0.99), min: durations[0],
      max: durations[durations.length - 1]};
  }).sort((a, b) => b.total - a.total || (a.text < b.text ? -1 : 1));
}

// What slices cover, as slices that do not touch.
export function unionOf(slices) {
  const union = [];
  for (const {start, end} of slices) {
    const last = union[union.length - 1];
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else union.push({start, end});
  }
  return union;
}

// Calls see(column, ns) for each of `count` columns of `width` ns from `from` that a slice touches.
function spread({start, end}, from, width, count, see) {
  const first = Math.floor((start - from) / width);
  for (let c = Math.max(0, first); c < count; c++) {
    const ns = Math.min(end, from + (c + 1) * width) - Math.max(start, from + c * width);
    if (ns <= 0 && c !== first) break;
    see(c, Math.max(0, ns), c === first);
  }
}

// Of columns of `width` ns from `from`: busy ns, events that start and that touch it, the longest, and time by name.
export function columnsOf(slices, from, width, count) {
  const columns = Array.from({length: count}, () => ({busy: 0, count: 0, touched: 0, longest: 0, names: new Map()}));
  for (const s of slices) {
    spread(s, from, width, count, (c, ns, starts) => {
      const column = columns[c];
      column.touched++;
      if (starts) column.count++;
      column.longest = Math.max(column.longest, s.end - s.start);
      column.names.set(s.name, (column.names.get(s.name) ?? 0) + ns);
    });
  }
  for (const s of unionOf(slices)) spread(s, from, width, count, (c, ns) => { columns[c].busy += ns; });
  return columns;
}

// The slices of one track by depth, each below those around it; only for tracks where none cross.
export function depthsOf(slices) {
  const rows = [], open = [];
  for (const s of slices) {
    while (open.length && open[open.length - 1].end <= s.start) open.pop();
    if (open.length && open[open.length - 1].end < s.end) throw new Error(`${s.name} crosses`);
    (rows[open.length] ??= []).push(s);
    open.push(s);
  }
  return rows;
}
