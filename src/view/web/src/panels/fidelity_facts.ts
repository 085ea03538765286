// The account of a trace as text: what was read, what is shown, anomalies. Pure.
import { formatCount, plural } from "../format";
import type { Fidelity } from "../data/model";

export interface Fact {
  text: string;
  problem: boolean;
  list: string | null; // its list in fidelityList; "ledger": lost before rows were made, see the ledger
}

// One line: "138,373 of 138,373 slices, 0 dropped, 3,551 on extra lanes, 0 kernels before their launch" (of mtia_rank_0).
export function factsOf(fidelity: Fidelity): Fact[] {
  const { slices, flows } = fidelity;
  const facts: Fact[] = [
    { text: `${formatCount(slices.shown)} of ${plural(slices.read, "slice")}`, problem: slices.shown !== slices.read, list: null },
    { text: `${formatCount(slices.dropped)} dropped`, problem: slices.dropped > 0, list: slices.dropped ? "no-time" : null },
    { text: `${formatCount(fidelity.on_lanes)} on extra lanes`, problem: false, list: fidelity.on_lanes ? "on-lanes" : null },
    {
      text: `${plural(fidelity.before_launch, "kernel")} before ${fidelity.before_launch === 1 ? "its" : "their"} launch`,
      problem: fidelity.before_launch > 0, list: fidelity.before_launch ? "before-launch" : null,
    },
  ];
  if (fidelity.lost) facts.push({ text: `${plural(fidelity.lost, "event")} lost in reading`, problem: true, list: "ledger" });
  if (fidelity.repaired) facts.push({ text: `${formatCount(fidelity.repaired)} repaired`, problem: true, list: "ledger" });
  if (fidelity.no_end) facts.push({ text: `${plural(fidelity.no_end, "slice")} without an end`, problem: true, list: "no-end" });
  if (fidelity.negative) facts.push({ text: `${plural(fidelity.negative, "negative duration")}`, problem: true, list: "negative" });
  if (fidelity.without_launch) facts.push({ text: `${plural(fidelity.without_launch, "GPU activity", "GPU activities")} without a launch`, problem: true, list: "without-launch" });
  if (fidelity.before_recording) facts.push({ text: `${plural(fidelity.before_recording, "GPU activity", "GPU activities")} from before the recording`, problem: false, list: "before-recording" });
  if (fidelity.after_recording) facts.push({ text: `${formatCount(fidelity.after_recording)} ${fidelity.after_recording === 1 ? "launch" : "launches"} without GPU activity at the end of the recording`, problem: false, list: "after-recording" });
  if (fidelity.without_work) facts.push({ text: `${formatCount(fidelity.without_work)} ${fidelity.without_work === 1 ? "launch" : "launches"} without GPU activity`, problem: false, list: "without-work" });
  // Usual: profilers cut flows at the ends of a recording and leave out calls. No figure rests on them.
  if (flows.without_start) facts.push({ text: `${plural(flows.without_start, "flow end")} without a start`, problem: false, list: "flows-without-start" });
  if (flows.without_end) facts.push({ text: `${plural(flows.without_end, "flow start")} without an end`, problem: false, list: "flows-without-end" });
  if (flows.unbound) facts.push({ text: `${plural(flows.unbound, "flow point")} bound to no slice`, problem: true, list: "unbound-flows" });
  if (flows.backward) facts.push({ text: `${plural(flows.backward, "flow")} backward in time`, problem: true, list: "backward-flows" });
  const doubts = (fidelity.trust?.doubts ?? []).filter((each) => each.level !== "note");
  if (doubts.length) facts.push({ text: `${plural(doubts.length, "doubt")} about GPU figures`, problem: true, list: null });
  return facts;
}

// Several traces: all of them added up.
export function sumFidelity(all: readonly Fidelity[]): Fidelity {
  const sum = (pick: (each: Fidelity) => number): number => all.reduce((total, each) => total + pick(each), 0);
  return {
    slices: { read: sum((each) => each.slices.read), shown: sum((each) => each.slices.shown), dropped: sum((each) => each.slices.dropped) },
    on_lanes: sum((each) => each.on_lanes), before_launch: sum((each) => each.before_launch),
    without_launch: sum((each) => each.without_launch), before_recording: sum((each) => each.before_recording),
    after_recording: sum((each) => each.after_recording), without_work: sum((each) => each.without_work),
    no_end: sum((each) => each.no_end ?? 0), negative: sum((each) => each.negative ?? 0), no_time: sum((each) => each.no_time ?? 0),
    events: sum((each) => each.events),
    lost: sum((each) => each.lost), repaired: sum((each) => each.repaired), instants: sum((each) => each.instants),
    counters: sum((each) => each.counters),
    flows: {
      count: sum((each) => each.flows.count), bound: sum((each) => each.flows.bound), unbound: sum((each) => each.flows.unbound),
      backward: sum((each) => each.flows.backward), without_start: sum((each) => each.flows.without_start),
      without_end: sum((each) => each.flows.without_end),
    },
    ledger: all.flatMap((each) => each.ledger),
    trust: { sentence: "", doubts: all.flatMap((each) => each.trust?.doubts ?? []) },
  };
}
