// Job: rank by step as a heat map, of the traces that are open.
import { batch, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { App } from "../app";
import { jobOfTables, MEASURES, type Job, type Measure } from "../data/job";
import type { ReportTable, TraceId } from "../data/model";
import { isAbort, messageOf, useRequest } from "../data/request";
import { formatDuration, formatShort, plural } from "../format";
import { offsetOf, scrollTo, showRange, traceName } from "../tools/navigate";
import { keyOf } from "../tracks/actions";
import { colorAt, extentOf, orderOf, peersOf, shownFigures, type Order } from "./job_layout";
import { JobPicture, type Cell } from "./job_picture";
import { Choice, Waiting } from "./parts";

const TITLES: Record<Measure, string> = { time: "time", exposed: "exposed communication", idle: "idle", late: "lateness" };
const AGAINST = [["no", "the figure"], ["step", "what is above the step's median"]] as const;

const WAIT_MS = 250; // while traces become ready one after the other

const chosenMeasure = signal<Measure>("time");
const chosenAgainst = signal<"no" | "step">("no");
const chosenOrder = signal<Order>("rank");

// The hosts of those traces that tell it. A build without SQLite does not know.
async function hostsOf(app: App, abort: AbortSignal): Promise<Map<TraceId, string>> {
  const found = await app.source.query("SELECT id, value FROM metadata WHERE name = 'hostname'", {}, abort).catch((error: unknown) => {
    if (isAbort(error)) throw error;
    return null;
  });
  if (!found || "error" in found) return new Map();
  return new Map(found.rows.flatMap(([id, value]) => {
    const input = found.inputs[Number(BigInt(String(id)) >> BigInt(found.id_bits))];
    return input ? [[input.trace, String(value).replace(/^"(.*)"$/, "$1")] as const] : [];
  }));
}

const REPORTS = [["steps", {}], ["breakdown", { by: "step" }], ["communication", { by: "step" }]] as const;
const told = new Map<string, Promise<ReportTable[]>>(); // by session and trace: traces that become ready later cost no more than themselves

function tablesOf(app: App, session: string, trace: TraceId): Promise<ReportTable[]> {
  const key = `${session}/${trace}`;
  const known = told.get(key);
  if (known) return known;
  const asked = Promise.all(REPORTS.map(([name, options]) => app.source.report(trace, name, options))).then((tables) => tables.flat());
  told.set(key, asked);
  asked.catch(() => told.delete(key)); // to be asked for again
  return asked;
}

// Reports of all traces that are ready, by step. One that cannot be asked is left out, and named.
async function askForJob(app: App, abort: AbortSignal): Promise<Job> {
  const { session = "", traces = [] } = app.state.session.peek() ?? {};
  const hosts = await hostsOf(app, abort);
  const lost: string[] = [];
  const answers = await Promise.all(traces.filter((each) => each.state === "ready").map(({ id, rank }) => tablesOf(app, session, id).then(
    (tables) => [{ trace: id, rank, host: hosts.get(id) ?? "", tables }],
    (error: unknown) => {
      lost.push(`${traceName(app, id)} is left out: ${messageOf(error)}`);
      return [];
    },
  )));
  const job = jobOfTables(answers.flat());
  return { ...job, notes: [...job.notes, ...lost] };
}

export function JobPanel({ app }: { app: App }): JSX.Element {
  const traces = app.state.session.value?.traces ?? [];
  const ready = traces.filter((each) => each.state === "ready");
  const reading = traces.filter((each) => each.state === "reading").length;
  const asked = useRequest<Job>(ready.length ? [app.state.session.value?.session, ...ready.map((each) => each.id)].join() : null, (abort) => askForJob(app, abort), reading ? WAIT_MS : 0);
  return (
    <div class="stacked" aria-busy={asked.loading}>
      {asked.value?.notes.map((note) => <p class="hint" key={note}>{note}</p>)}
      {ready.length === 0 ? <p class="hint">No trace is ready yet.</p>
        : asked.error || !asked.value ? <Waiting asked={asked} what="the steps of each rank" />
        : asked.value.steps.length === 0 ? <p class="hint">No trace that was asked has steps: annotations ProfilerStep#N, or work that repeats, as heddle report steps finds them.</p>
        : <HeatMap app={app} job={asked.value} reading={reading} />}
    </div>
  );
}

function Legend({ extent: [low, high], app }: { extent: [number, number]; app: App }): JSX.Element {
  void app.state.theme.value;
  const dark = document.documentElement.dataset.theme === "dark";
  const colors = Array.from({ length: 10 }, (_, k) => `rgb(${colorAt(k / 9, dark).join(" ")})`).join(", ");
  return (
    <span class="dim">
      {formatShort(low)} <span class="heat" style={{ background: `linear-gradient(to right, ${colors})` }} /> {formatShort(high)}; blank: not known
    </span>
  );
}

function HeatMap({ app, job, reading }: { app: App; job: Job; reading: number }): JSX.Element {
  const [measure, against, order] = [chosenMeasure.value, chosenAgainst.value === "step", chosenOrder.value];
  const figures = useMemo(() => shownFigures(job, measure, against), [job, measure, against]);
  const rows = useMemo(() => orderOf(job, order, figures), [job, order, figures]);
  const extent = useMemo(() => extentOf(figures), [figures]);
  const hosts = new Set(job.rows.map((row) => row.host)).size > 1;
  const orders = ([["rank", "rank"], ["host", "host"], ["most", "most first"]] as const).filter(([value]) => value !== "host" || hosts);
  return (
    <>
      <div class="bar">
        <Choice label="Colours" value={measure} options={MEASURES.map((each) => [each, TITLES[each]] as const)} onChange={(value) => { chosenMeasure.value = value; }} />
        <Choice label="of" value={chosenAgainst.value} options={AGAINST} onChange={(value) => { chosenAgainst.value = value; }} />
        <Choice label="Order" value={order} options={orders} onChange={(value) => { chosenOrder.value = value; }} />
        {extent && <Legend extent={extent} app={app} />}
        <span class="dim">
          {plural(job.rows.length, "rank")}, {plural(job.steps.length, "step")}{reading > 0 && `, ${plural(reading, "trace")} still being read`}
        </span>
      </div>
      {extent ? <JobPicture job={job} figures={figures} extent={extent} order={rows} groups={order === "host"} theme={app.state.theme.value}
        describe={(cell) => describe(job, cell)} onOpen={(cell) => openCell(app, job, job.figures[measure], cell)} />
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
  return `${job.rows[row]?.name}${host ? ` on ${host}` : ""}, ${job.steps[step]}: ${MEASURES.map(figure).join(", ")}`;
}

// The step in the trace of its rank and in those of two peers, one below the other; all other traces are hidden.
function openCell(app: App, job: Job, figures: Float64Array, { row, step }: Cell): void {
  const { state } = app;
  const shown = [row, ...peersOf(figures, job.steps.length, row, step)].filter((each) => job.rows[each]?.trace !== null);
  const spans = shown.flatMap((each) => {
    const at = each * job.steps.length + step;
    const from = (job.start[at] as number) + offsetOf(app, job.rows[each]?.trace as number);
    return Number.isNaN(from) ? [] : [{ from, until: from + (job.figures.time[at] as number) }];
  });
  if (spans.length === 0) {
    state.message.value = { text: `${job.rows[row]?.name} has no ${job.steps[step]}.`, error: true };
    return;
  }
  const traces = new Set(shown.map((each) => job.rows[each]?.trace));
  const names = shown.map((each) => job.rows[each]?.name).join(", ");
  batch(() => {
    state.hidden.value = new Set(state.tracks.value.filter((track) => !traces.has(track.trace)).map(keyOf));
    state.message.value = { text: `${job.steps[step]} of ${names}${state.hidden.value.size ? "; other ranks are hidden" : ""}`, error: false };
    showRange(app, Math.min(...spans.map((each) => each.from)), Math.max(...spans.map((each) => each.until)));
  });
  const first = state.tracks.value.find((track) => track.trace === job.rows[row]?.trace && track.parent === null);
  if (first) scrollTo(app, keyOf(first), 0);
}
