// Job: rank by step as a heat map, of summaries or of the traces that are open.
import { batch, effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { App } from "../app";
import { drawnTheme } from "../bar/theme";
import { MEASURES, type Dimension, type Job, type LateAnswer, type Measure, type MoreAnswer } from "../data/job";
import type { Session, TraceId, TraceInfo } from "../data/model";
import { openedHere } from "../data/reading";
import { messageOf, useRequest } from "../data/request";
import { formatCount, formatDuration, formatShort, plural } from "../format";
import type { Range } from "../state";
import { sameRange } from "../tools/nav";
import { showRange, viewHeight } from "../tools/navigate";
import { isCollapsed, keyOf, setCollapsed } from "../tracks/actions";
import { choicesOf, makeLayout } from "../tracks/layout";
import { fitTracks } from "./job_fit";
import { colorAt, countRanks, extentOf, groupsOf, orderOf, peersOf, shownFigures, type Extent, type Order } from "./job_layout";
import { JobPicture, type Cell } from "./job_picture";
import { Choice, Waiting } from "./parts";
import { RankTable } from "./start/rank_table";

const TITLES: Record<Measure, string> = { time: "time", exposed: "exposed communication", idle: "idle", late: "lateness" };
const DIMENSIONS: Record<Dimension, string> = {
  pp: "pipeline stage", tp: "tensor-parallel position", dp: "data-parallel position", ep: "expert-parallel position", cp: "context-parallel position",
};
const AGAINST = [["no", "the figure"], ["step", "what is above the step's median"]] as const;

const WAIT_MS = 250; // while traces become ready one after the other
const MORE_MS = 20; // the first picture is drawn before its other figures are requested,
const LATE_MS = 50; // and before all collectives are compared

const VIEWS = [["steps", "ranks by step"], ["ranks", "a table of ranks"]] as const;
const chosenView = signal<"steps" | "ranks">("steps");
const chosenMeasure = signal<Measure>("time");
const chosenAgainst = signal<"no" | "step">("no");
const chosenOrder = signal<Order>("rank");

// Key of a new request: files whose summaries are read (revision 1 is waited for), or traces that are ready.
const revisionOf = (session: Session | null): number => (session?.job ? Math.max(1, session.job.revision) : 0);
function keyOfJob(session: Session | null): string | null {
  if (session?.job) return `${session.session}/${revisionOf(session)}`;
  const ready = session?.traces.filter((each) => each.state === "ready") ?? [];
  return ready.length > 0 ? [session?.session, ...ready.map((each) => each.id)].join() : null;
}

// The first picture with the figures requested later, if those are of the same picture.
function withMore(known: Job, more: MoreAnswer | null, late: LateAnswer | null): Job {
  const figures = { ...known.figures, ...(more?.number === known.number ? more.figures : {}) };
  return late?.late.length === figures.late.length ? { ...known, roles: late.roles, figures: { ...figures, late: late.late } } : { ...known, figures };
}

export function JobPanel({ app }: { app: App }): JSX.Element {
  const session = app.state.session.value;
  const reading = session?.job ? session.job.files - session.job.done : session?.traces.filter((each) => each.state === "reading").length ?? 0;
  const key = keyOfJob(session);
  const asked = useRequest<Job>(key, (abort) => app.source.job(revisionOf(session), abort), reading && !session?.job ? WAIT_MS : 0);
  const known = asked.value;
  const behind = known && asked.key === key && known.rows.length > 0 ? `${key}/${known.number}` : null;
  const more = useRequest(behind, (abort) => app.source.jobMore(abort), MORE_MS);
  const late = useRequest(behind, (abort) => app.source.jobLate(known?.number ?? 0, abort), LATE_MS);
  const job = useMemo(() => known && withMore(known, more.value, late.value), [known, more.value, late.value]);
  const notes = [...(job?.notes ?? []), ...(late.value?.notes ?? []), ...(more.error ? [`Exposed communication and idle: ${more.error}`] : []), ...(late.error ? [`Lateness: ${late.error}`] : [])];
  return (
    <div class="stacked" aria-busy={asked.loading || more.loading || late.loading}>
      {notes.map((note) => <p class="hint" key={note}>{note}</p>)}
      {key === null ? <p class="hint">No trace is ready yet.</p>
        : chosenView.value === "ranks" ? <><div class="bar"><ViewChoice /></div><RankTable app={app} onOpen={(rank) => void openRank(app, rank)} /></>
        : session?.job?.revision === 0 && asked.loading && !job ? <p class="hint">The summaries are being read …</p>
        : asked.error || !job ? <Waiting asked={asked} what="the steps of each rank" />
        : job.steps.length > 0 ? <HeatMap app={app} job={job} reading={reading} waits={(measure) => (measure === "late" ? late : more).loading} />
        : reading > 0 ? <p class="hint">{plural(reading, "file")} still to be read.</p>
        : <p class="hint">No trace that was asked has steps: annotations ProfilerStep#N, or work that repeats, as heddle report steps finds them.</p>}
    </div>
  );
}

function ViewChoice(): JSX.Element {
  return <Choice label="Show" value={chosenView.value} options={VIEWS} onChange={(value) => { chosenView.value = value; }} />;
}

function Legend({ extent: { low, high, isBelow, isAbove } }: { extent: Extent }): JSX.Element {
  const dark = drawnTheme.value === "dark";
  const colors = Array.from({ length: 10 }, (_, k) => `rgb(${colorAt(k / 9, dark).join(" ")})`).join(", ");
  return (
    <span class="dim">
      {isBelow && "≤ "}{formatShort(low)} <span class="heat" style={{ background: `linear-gradient(to right, ${colors})` }} /> {isAbove && "≥ "}{formatShort(high)}; blank: not known
    </span>
  );
}

function HeatMap({ app, job, reading, waits }: { app: App; job: Job; reading: number; waits: (measure: Measure) => boolean }): JSX.Element {
  const [measure, against] = [chosenMeasure.value, chosenAgainst.value === "step"];
  const hosts = new Set(job.rows.map((row) => row.host)).size > 1;
  const orders: (readonly [Order, string])[] = [
    ["rank", "rank"], ...(hosts ? [["host", "host"] as const] : []), ...job.roles.map(({ name }) => [name, DIMENSIONS[name]] as const), ["most", "most first"],
  ];
  const order = orders.some(([value]) => value === chosenOrder.value) ? chosenOrder.value : "rank";
  const figures = useMemo(() => shownFigures(job, measure, against), [job.figures[measure], against]);
  const rows = useMemo(() => orderOf(job, order, figures), [job.rows, job.roles, order, figures]);
  const extent = useMemo(() => extentOf(figures, job.steps.length), [figures, job.steps.length]);
  const [ranks, world] = useMemo(() => countRanks(job), [job.rows, job.world]);
  const groupOf = useMemo(() => groupsOf(job, order), [job.rows, job.roles, order]);
  return (
    <>
      <div class="bar">
        <ViewChoice />
        <Choice label="Colours" value={measure} options={MEASURES.map((each) => [each, TITLES[each]] as const)} onChange={(value) => { chosenMeasure.value = value; }} />
        <Choice label="of" value={chosenAgainst.value} options={AGAINST} onChange={(value) => { chosenAgainst.value = value; }} />
        <Choice label="Order" value={order} options={orders} onChange={(value) => { chosenOrder.value = value; }} />
        {extent && <Legend extent={extent} />}
        <span class="dim">
          {plural(ranks, "rank")}{world !== null && ` of ${formatCount(world)}`}, {plural(job.steps.length, "step")}{reading > 0 && `, ${plural(reading, app.state.session.value?.job ? "file" : "trace")} still being read`}
        </span>
      </div>
      {extent ? <JobPicture job={job} measure={measure} figures={figures} extent={extent} order={rows} groupOf={groupOf} theme={drawnTheme.value}
        onPaint={() => { app.state.hasHeatMap.value = true; }} describe={(cell) => describe(job, cell)} onOpen={(cell) => void openCell(app, job, measure, cell)} />
        : measure !== "time" && waits(measure) ? <p class="hint">{measure === "late" ? "The collectives of all ranks are being compared …" : `Asking for ${TITLES[measure]} …`}</p>
        : <p class="hint">No trace tells the {TITLES[measure]} of its steps.</p>}
    </>
  );
}

function describe(job: Job, { row, step }: Cell): string {
  const figure = (measure: Measure): string => {
    const value = job.figures[measure][row * job.steps.length + step] as number;
    return `${TITLES[measure]} ${Number.isNaN(value) ? "not known" : formatDuration(value)}`;
  };
  const host = job.rows[row]?.host;
  const roles = job.roles.flatMap(({ name, at }) => (typeof at[row] === "number" ? [`${name} ${at[row]}`] : [])).join(", ");
  return `${job.rows[row]?.name}${host ? ` on ${host}` : ""}${roles && ` (${roles})`}, ${job.steps[step]}: ${MEASURES.map(figure).join(", ")}`;
}

function when(holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (holds()) setTimeout(() => { stop(); resolve(); });
    });
  });
}

// Resolves when all of them are read and laid out, or cannot be.
function whenReady(app: App, traces: readonly TraceId[]): Promise<void> {
  return when(() => {
    const known = new Map(app.state.session.value?.traces.map((each) => [each.id, each]));
    const shown = new Set(app.state.tracks.value.map((track) => track.trace));
    return traces.every((trace) => known.get(trace)?.state === "failed" || (known.get(trace)?.state === "ready" && shown.has(trace)));
  });
}

// Shows the step in the trace of its rank and in those of two peers, one below the other; all other traces are hidden.
// Traces are opened at first use.
async function openCell(app: App, job: Job, measure: Measure, { row, step }: Cell): Promise<void> {
  const { state } = app;
  const wanted = [row, ...peersOf(job, measure, row, step)];
  state.message.value = { text: `Opening ${job.rows[row]?.name} …`, error: false };
  const answers = []; // one after the other: traces are in the order in which they are opened
  for (const each of wanted) {
    answers.push(await app.source.jobOpen(job.number, each, step).then((opened) => (openedHere(opened.trace), { ...opened, row: each }), (error: unknown) => `${job.rows[each]?.name}: ${messageOf(error)}`));
  }
  const own = answers[0];
  if (typeof own === "string" || !own || own.start === null) {
    state.message.value = { text: typeof own === "string" ? own : `${job.rows[row]?.name} has no ${job.steps[step]}.`, error: true };
    return;
  }
  const opened = answers.flatMap((each) => (typeof each === "string" ? [] : [each]));
  await whenReady(app, opened.map((each) => each.trace));
  const infoOf = (trace: TraceId): TraceInfo | undefined => state.session.value?.traces.find((each) => each.id === trace);
  const failed = opened.find((each) => infoOf(each.trace)?.state !== "ready");
  const shown = opened.filter((each) => each !== failed);
  const spans = (): Range[] => shown.flatMap(({ trace, start, duration }) => {
    const info = infoOf(trace);
    if (start === null || info?.state !== "ready") return [];
    const from = Number(BigInt(start) - BigInt(info.start_ns)) + info.offset_ns;
    return [{ from, until: from + (duration ?? 0) }];
  });
  showSpans(app, job, step, shown, spans());
  const lost = [...answers.filter((each) => typeof each === "string"), ...(failed ? [`${job.rows[failed.row]?.name} cannot be read`] : [])];
  if (lost.length > 0) state.message.value = { text: `${state.message.value?.text ?? ""}; ${lost.join("; ")}`, error: false };
  // Clocks are compared later, and may move the traces: a view that the user has not moved meanwhile moves with them.
  const [before, scrolled, hidden, collapsed] = [state.range.value, state.scroll.value, state.hidden.value, state.collapsed.value];
  await when(() => shown.every(({ trace }) => state.clocks.value.some((clock) => clock.trace === trace)));
  if (sameRange(before, state.range.value)) showSpanOf(app, spans());
  if (state.hidden.value === hidden && state.collapsed.value === collapsed) showTraces(app, shown.map((each) => each.trace)); // derived tracks have come
  if (state.scroll.value === scrolled) scrollToTrace(app, own.trace);
}

// The same of a rank, in the step in which it is latest; where no collective is compared, in its longest.
export async function openRank(app: App, rank: number): Promise<void> {
  try {
    const known = await app.source.job(revisionOf(app.state.session.peek()));
    const job = withMore(known, null, await app.source.jobLate(known.number));
    const row = job.rows.findIndex((each) => each.rank === rank), count = job.steps.length;
    const own = (measure: Measure): Float64Array => job.figures[measure].subarray(row * count, (row + 1) * count);
    const measure = own("late").some((value) => value > 0) ? "late" : "time";
    const step = own(measure).reduce((most, value, at, all) => (value > (all[most] as number) || Number.isNaN(all[most]) ? at : most), 0);
    if (row >= 0 && count > 0) await openCell(app, job, measure, { row, step });
  } catch (error) {
    app.state.message.value = { text: messageOf(error), error: true };
  }
}

function scrollToTrace(app: App, trace: TraceId): void {
  const first = app.layout().places.find((place) => place.track.trace === trace);
  if (first) app.state.scroll.value = Math.min(first.y, Math.max(0, app.layout().height - viewHeight.value));
}

function showSpanOf(app: App, spans: readonly Range[]): void {
  if (spans.length > 0) showRange(app, Math.min(...spans.map((each) => each.from)), Math.max(...spans.map((each) => each.until)));
}

// Hides all other traces, and tracks of these that do not fit into the view.
export function showTraces(app: App, opened: readonly TraceId[]): void {
  const { state } = app;
  const room = (viewHeight.value - app.layout().pinnedHeight) / opened.length;
  const tracks = state.tracks.value;
  setCollapsed(state, tracks.filter(({ role, trace }) => role === "rank" && opened.includes(trace)), false);
  const others = new Set(tracks.filter((track) => !opened.includes(track.trace)).map(keyOf));
  const fits = opened.map((trace) => {
    const own = tracks.filter((track) => track.trace === trace);
    const folded = fitTracks(own, 0, room).folded.filter((track) => !state.collapsed.value.has(keyOf(track)));
    const collapsed = new Map([...state.collapsed.value, ...folded.map((track) => [keyOf(track), true] as const)]);
    const { height } = makeLayout(own, { ...choicesOf(state), collapsed, hidden: new Set(), pinned: [] });
    return height <= room ? { hidden: [], folded } : fitTracks(own, height, room);
  });
  for (const track of fits.flatMap((fit) => fit.hidden)) others.add(keyOf(track));
  state.hidden.value = others;
  setCollapsed(state, fits.flatMap((fit) => fit.folded).filter((track) => !isCollapsed(state, track)), true);
}

function showSpans(app: App, job: Job, step: number, opened: readonly { trace: TraceId; row: number }[], spans: readonly Range[]): void {
  const { state } = app;
  if (spans.length === 0) return;
  const names = opened.map((each) => job.rows[each.row]?.name).join(", ");
  batch(() => {
    showTraces(app, opened.map((each) => each.trace));
    state.message.value = { text: `${job.steps[step]} of ${names}${state.hidden.value.size ? "; other ranks are hidden" : ""}`, error: false };
    showSpanOf(app, spans);
  });
  if (opened[0]) scrollToTrace(app, opened[0].trace);
}
