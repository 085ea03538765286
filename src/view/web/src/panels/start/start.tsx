// Start: what `heddle summary` says of a trace, with links to its places: trust, steps, where the time goes, findings.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import type { App } from "../../app";
import type { ReportAnswer, TraceId, TraceInfo, TrackInfo } from "../../data/model";
import { useRequest } from "../../data/request";
import { formatCount, formatDuration, formatPercent, formatShort, plural } from "../../format";
import { deviceKind, goToId, offsetOf, scrollTo, showRange, traceName, uncover } from "../../tools/navigate";
import { say } from "../../tools/select_actions";
import { trackKey } from "../../state";
import { Choice, Fact, Facts, Waiting } from "../parts";
import { openRank } from "../job";
import { BreakdownBar } from "./breakdown_bar";
import { RankTable } from "./rank_table";
import { devicesOf, lengthOf, medianStep, numberOf, recordsOf, shortStep, slowestStep, stepsOf, textOf, type DeviceParts, type Fields, type Part, type Step } from "./start_data";
import { gridHeight, StepChange, StepStrip, StepTable } from "./step_strip";

const FINDINGS = 3; // that are shown at first

const chosenTrace = signal<TraceId | null>(null);

export function StartPanel({ app }: { app: App }): JSX.Element {
  const traces = (app.state.session.value?.traces ?? []).filter((each) => each.state === "ready");
  const trace = traces.find(({ id }) => id === chosenTrace.value) ?? traces[0];
  const ranks = (count: number): JSX.Element => <section aria-label="Ranks" class="ranks" style={{ height: gridHeight(Math.min(count, 16) + 1) }}><RankTable app={app} onOpen={(rank) => void openRank(app, rank)} /></section>;
  const job = app.state.session.value?.job;
  if (!trace && job) return <div class="start">{ranks(job.files)}</div>;
  if (!trace) return <p class="hint">{app.state.session.value?.traces.some((each) => each.state === "reading") ? "The trace is being read …" : "No trace is open: drop a file on the page, or press Ctrl + O."}</p>;
  return (
    <div class="start">
      {traces.length > 1 && (
        <div class="bar">
          <Choice label="Trace" value={String(trace.id)} options={traces.map(({ id }) => [String(id), traceName(app, id)] as const)} onChange={(id) => { chosenTrace.value = Number(id); }} />
          <span class="dim">{formatCount(traces.length)} traces are open; the Job tab has them by step</span>
        </div>
      )}
      {(traces.length > 1 || job) && ranks(Math.min(8, traces.length))}
      <Summary key={trace.id} app={app} trace={trace} />
    </div>
  );
}

// Reports run once all is laid out, so that they do not slow down the first picture.
function useReport(app: App, trace: TraceInfo, name: string, options: Record<string, string> = {}): ReturnType<typeof useRequest<ReportAnswer>> {
  return useRequest<ReportAnswer>(trace.busy === "" ? `${trace.id}/${name}/${JSON.stringify(options)}` : null, (abort) => app.source.report(trace.id, name, options, abort));
}

function Summary({ app, trace }: { app: App; trace: TraceInfo }): JSX.Element {
  const summary = useReport(app, trace, "summary");
  const info = useReport(app, trace, "info");
  const how: Record<string, string> = guessed.value.has(trace.id) ? { step: "auto" } : {};
  const bySteps = useReport(app, trace, "breakdown", { by: "step", ...how });
  const steps = useReport(app, trace, "steps", how);
  const lists = useMemo(() => (bySteps.value && steps.value ? stepsOf(recordsOf(bySteps.value.tables, "breakdown"), recordsOf(steps.value.tables, "steps")) : []), [bySteps.value, steps.value]);
  if (summary.error || !summary.value) return trace.busy ? <p class="hint">The trace is being laid out …</p> : <div><Waiting asked={summary} what="the summary" /></div>;
  const { tables, trust } = summary.value;
  const devices = devicesOf(recordsOf(tables, "breakdown"));
  return (
    <div class="startcolumns">
      <section aria-label="Summary" class="startside">
        <About app={app} trace={trace} trust={trust ?? ""} info={info.value} steps={lists} />
        {devices.length > 0 && <h4>Where the time goes <span class="dim">of the {trace.device_kind}, from its first activity to its last</span></h4>}
        {devices.map((device) => <Device key={`${device.device} ${device.process}`} app={app} trace={trace.id} device={device} alone={devices.length === 1} />)}
        {devices.length === 0 && <p class="hint">No GPU activity is in this trace. <button type="button" class="small" onClick={() => { app.state.tab.value = "flame"; }}>Show its flame graph</button></p>}
        <Findings app={app} trace={trace.id} findings={recordsOf(tables, "findings")} />
      </section>
      {lists.length > 0 && <Steps app={app} trace={trace.id} lists={lists} how={how} />}
      {lists.length === 0 && devices.length > 0 && bySteps.value && steps.value && (
        <section aria-label="Steps" class="startsteps">
          <h4>Steps</h4>
          {guessed.value.has(trace.id) ? <p class="hint">Nothing repeats often enough to guess steps from.</p>
            : <p class="hint">The trace has no steps: no annotation such as ProfilerStep#1. <button type="button" class="small" onClick={() => { guessed.value = new Set(guessed.peek()).add(trace.id); }}>Guess them from what repeats</button></p>}
        </section>
      )}
    </div>
  );
}

function About({ app, trace, trust, info, steps }: { app: App; trace: TraceInfo; trust: string; info: ReportAnswer | null; steps: Step[][] }): JSX.Element {
  const file = info && recordsOf(info.tables, "file")[0];
  const gpus = info ? [...new Set(recordsOf(info.tables, "devices").filter((row) => numberOf(row, "slices")).map((row) => textOf(row, "name")).filter(Boolean))] : [];
  const doubts = app.state.fidelity.value.get(trace.id)?.trust?.doubts ?? [];
  const isDoubted = doubts.some(({ level }) => level !== "note");
  const list = steps[0] ?? [];
  const [median, slowest] = [medianStep(list), slowestStep(list)];
  const world = file && numberOf(file, "world_size");
  return (
    <Facts>
      <Fact title="Trust"><span class={isDoubted ? "warn" : ""}>{isDoubted && <span role="img" aria-label="Problem: ">⚠ </span>}{trust}</span></Fact>
      <Fact title="File"><bdi>{trace.name}</bdi>{trace.part && ` (only the ${trace.part})`} <span class="dim">{file && (textOf(file, "producer") || textOf(file, "format"))}</span></Fact>
      {gpus.length > 0 && <Fact title={trace.device_kind ?? "Device"}><bdi>{gpus.join(", ")}</bdi></Fact>}
      {file && numberOf(file, "rank") !== null && <Fact title="Rank">{numberOf(file, "rank")}{world !== null && ` of ${formatCount(world)}`}</Fact>}
      <Fact title="Span"><span title={formatDuration(trace.span_ns)}>{formatShort(trace.span_ns)}</span></Fact>
      {median && slowest && (
        <Fact title="Steps">
          {formatCount(list.length)}, the median {formatShort(lengthOf(median))}, the slowest{" "}
          <button type="button" class="link" title={`${slowest.name}: ${formatDuration(lengthOf(slowest))}\nClick: show it, and what is different`} onClick={() => chooseStep(app, trace.id, slowest)}>{shortStep(slowest.name)} {formatShort(lengthOf(slowest))}</button>
        </Fact>
      )}
    </Facts>
  );
}

// ---- places on the tracks ----

const ROLES: Record<Part, string> = { compute: "compute", exposed_communication: "exposed", exposed_copy: "copy", idle: "idle" };

// The track that shows this part of a device's time.
function trackOf(app: App, trace: TraceId, part: Part, device: number | null): TrackInfo | undefined {
  return app.state.tracks.value.find((track) => track.trace === trace && track.derived && track.role === ROLES[part] && (device === null || track.device === device));
}

// Shows it over a range (trace time; null: as it is).
function partAction(app: App, trace: TraceId, part: Part, device: number | null, range: { from: number; until: number } | null): (() => void) | null {
  const track = trackOf(app, trace, part, device);
  if (!track) return null;
  return () => {
    const key = trackKey(trace, track.id);
    const offset = offsetOf(app, trace);
    uncover(app, key);
    if (range) showRange(app, range.from + offset, range.until + offset);
    scrollTo(app, key, 0);
    say(app, part === "exposed_copy" ? `The track ${track.name} shows all copies, also those that other activities hide.` : `The track ${track.name} shows it.`);
    app.redraw();
  };
}

function Device({ app, trace, device, alone }: { app: App; trace: TraceId; device: DeviceParts; alone: boolean }): JSX.Element {
  const name = device.device === null ? device.process || deviceKind(app, trace) : `${deviceKind(app, trace)} ${device.device}`;
  return (
    <div class="device">
      {!alone && <div class="dim"><bdi>{name}</bdi></div>}
      <BreakdownBar of={device} onPart={(part) => partAction(app, trace, part, device.device, null)} />
      {device.doubt && <p class="warn"><span role="img" aria-label="Problem: ">⚠ </span>not to be trusted: {device.doubt}</p>}
    </div>
  );
}

// ---- steps ----

const guessed = signal<ReadonlySet<TraceId>>(new Set()); // traces without steps, where a user wants a guess
const shownStep = signal<{ trace: TraceId; step: Step } | null>(null);

function chooseStep(app: App, trace: TraceId, step: Step): void {
  const offset = offsetOf(app, trace);
  const until = Math.max(step.start + lengthOf(step), step.start + 1);
  const room = (until - step.start) * 0.04;
  shownStep.value = { trace, step };
  app.state.range.value = { from: step.start + offset - room, until: until + offset + room };
}

function Steps({ app, trace, lists, how }: { app: App; trace: TraceId; lists: Step[][]; how: Record<string, string> }): JSX.Element {
  const [device, setDevice] = useState(0);
  const kind = deviceKind(app, trace);
  const steps = lists[device] ?? lists[0] ?? [];
  const median = useMemo(() => medianStep(steps), [steps]);
  const shown = shownStep.value;
  const chosen = shown?.trace === trace ? steps.find(({ start, name }) => start === shown.step.start && name === shown.step.name) ?? null : null;
  const onChoose = useCallback((step: Step) => chooseStep(app, trace, step), [app, trace]);
  const onPart = useCallback((step: Step, part: Part) => partAction(app, trace, part, step.device, { from: step.start, until: step.start + lengthOf(step) }), [app, trace, app.state.tracks.value]);
  return (
    <section aria-label="Steps" class="startsteps">
      <h4>Steps <span class="dim">the outline is the step's duration, the colours are what the {kind} does in it</span>
        {lists.length > 1 && <Choice label="of" value={String(device)} options={lists.map((list, k) => [String(k), `${kind} ${list[0]?.device ?? "?"}`] as const)} onChange={(k) => setDevice(Number(k))} />}
      </h4>
      <StepStrip kind={kind} steps={steps} chosen={chosen} onChoose={onChoose} />
      {chosen && median && <StepChange key={`${chosen.start}`} app={app} trace={trace} step={chosen} median={median} how={how} onChoose={onChoose} />}
      <div class="stepgrid" style={{ height: gridHeight(steps.length) }}><StepTable kind={kind} steps={steps} chosen={chosen} onChoose={onChoose} onPart={onPart} /></div>
    </section>
  );
}

// ---- findings ----

function Findings({ app, trace, findings }: { app: App; trace: TraceId; findings: Fields[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? findings : findings.slice(0, FINDINGS);
  return (
    <>
      <h4>Findings <span class="dim">what to do first, by what it saves at most</span></h4>
      {findings.length === 0 && <p class="hint">None.</p>}
      <ol class="findings">{shown.map((finding, at) => <Finding key={at} app={app} trace={trace} finding={finding} />)}</ol>
      {findings.length > FINDINGS && <button type="button" class="small" aria-expanded={all} onClick={() => setAll(!all)}>{all ? "The first three" : `All ${plural(findings.length, "finding")}`}</button>}
    </>
  );
}

function Finding({ app, trace, finding }: { app: App; trace: TraceId; finding: Fields }): JSX.Element {
  const [saves, whole, id, start, duration] = ["saves", "whole", "id", "start", "duration"].map((name) => numberOf(finding, name));
  const examples = textOf(finding, "evidence").split(",").filter((each) => /^\d+$/.test(each)).map(Number);
  const isNote = textOf(finding, "severity") === "note";
  const go = id !== null ? () => void goToId(app, trace, id)
    : start !== null ? () => showRange(app, start + offsetOf(app, trace), start + (duration ?? 0) + offsetOf(app, trace)) : null;
  return (
    <li>
      <b>{textOf(finding, "code")}</b>{" "}
      {isNote ? <span class="tag">for information</span> : saves !== null && <span class="saves">saves at most {formatShort(saves)}{whole ? ` (${formatPercent(saves / whole)})` : ""}</span>}{" "}
      {go && <button type="button" class="small" onClick={go}>Show</button>}
      {examples.filter((each) => each !== id).map((each, at) => <button key={each} type="button" class="small" aria-label={`Example ${at + 2}`} onClick={() => void goToId(app, trace, each)}>{at + 2}</button>)}
      <div><bdi>{textOf(finding, "finding")}</bdi></div>
      {textOf(finding, "trust_reason") && <div class="warn">Uncertain: {textOf(finding, "trust_reason")}</div>}
      {textOf(finding, "doubt") && <div class="warn">not to be trusted: {textOf(finding, "doubt")}</div>}
      <div class="dim">{textOf(finding, "advice")}</div>
    </li>
  );
}
