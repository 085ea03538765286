// The steps of a device: a bar each, stacked by class, a table, and what makes one differ from the median one.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { App } from "../../app";
import { moveFocus } from "../../bar/roving";
import type { ReportTable, TraceId } from "../../data/model";
import { useRequest } from "../../data/request";
import { formatDuration, formatPercent, formatShort } from "../../format";
import { deviceKind } from "../../tools/navigate";
import { DataTable, type Column, type Sort } from "../datatable";
import { Choice, Waiting } from "../parts";
import { partsText } from "./breakdown_bar";
import { barsOf, changesOf, lengthOf, medianStep, PARTS, recordsOf, shortStep, type Change, type Part, type Step } from "./start_data";

const MOST_BARS = 240;
const MOST_CHANGES = 200;

// Of so many rows with their head; more than ten scroll.
export const gridHeight = (rows: number): string => `${Math.min(rows, 10) * 22 + 42}px`;

export const signed = (ns: number): string => (ns === 0 ? "0" : `${ns > 0 ? "+" : "−"}${formatShort(Math.abs(ns))}`);

interface StripProps {
  kind: string; // of the device: "GPU"
  steps: readonly Step[];
  chosen: Step | null;
  onChoose: (step: Step) => void;
}

export function StepStrip({ kind, steps, chosen, onChoose }: StripProps): JSX.Element {
  const strip = useRef<HTMLDivElement>(null);
  const bars = useMemo(() => barsOf(steps, MOST_BARS), [steps]);
  const highest = bars.reduce((most, { step }) => Math.max(most, lengthOf(step), step.span), 1);
  const at = bars.findIndex(({ step }) => step === chosen);
  return (
    <div class="stepstrip" role="toolbar" aria-label={`Steps by duration, ${steps.length}`} ref={strip} onKeyDown={(event) => moveFocus(event, strip.current, "button")}>
      {bars.map(({ step, of }, k) => {
        const title = `${step.name}${of > 1 ? `, the longest of ${of}` : ""}: ${formatShort(lengthOf(step))}; ${kind} window ${formatShort(step.span)}: ${partsText(step)}`;
        return (
          <button key={k} type="button" class="step" title={`${title}\nClick: show it, and what is different`} aria-label={title} aria-pressed={step === chosen}
            tabIndex={k === Math.max(0, at) ? 0 : -1} onClick={() => onChoose(step)}>
            <span class="stepbox"><span class="stepbar" style={{ height: `${(Math.max(lengthOf(step), step.span) / highest) * 100}%` }}>
              <span class="stepwhole" style={{ height: `${(lengthOf(step) / Math.max(lengthOf(step), step.span)) * 100}%` }} />
              {PARTS.map(([part]) => <span key={part} class={`class-${part}`} style={{ height: `${(step.parts[part] / Math.max(lengthOf(step), step.span)) * 100}%` }} />)}
            </span></span>
            {bars.length <= 40 && <span class="stepname">{shortStep(step.name)}</span>}
          </button>
        );
      })}
    </div>
  );
}

// `onPart`: shows that part of the step's time on the tracks; null: the trace has no such track.
export function StepTable({ kind, steps, chosen, onChoose, onPart }: StripProps & { onPart: (step: Step, part: Part) => (() => void) | null }): JSX.Element {
  const [sort, setSort] = useState<Sort>({ id: "start", down: false });
  const columns = useMemo<Column<Step>[]>(() => {
    const median = medianStep(steps);
    const parts = PARTS.map(([part, title]): Column<Step> => ({
      id: part, title, hint: `${title} on the ${kind}, and its share of the step's span there`, width: part === "exposed_communication" ? 190 : 124, right: true,
      value: (step) => step.parts[part],
      cell: (step) => {
        const text = `${formatShort(step.parts[part])} ${step.span > 0 ? formatPercent(step.parts[part] / step.span) : ""}`;
        const go = onPart(step, part);
        return go ? <button type="button" class="link" title={`${formatDuration(step.parts[part])}\nClick: show it as a track`} onClick={go}>{text}</button> : <span title={formatDuration(step.parts[part])}>{text}</span>;
      },
    }));
    return [
      { id: "name", title: "Step", right: false, value: (step) => step.name, cell: (step) => <button type="button" class="link" title={step.name} onClick={() => onChoose(step)}><bdi>{shortStep(step.name)}</bdi></button> },
      { id: "duration", title: "Duration", hint: "Of the annotation on the CPU", width: 84, right: true, value: lengthOf, cell: (step) => (step.duration === null ? "–" : <span title={formatDuration(step.duration)}>{formatShort(step.duration)}</span>) },
      ...parts,
      { id: "against", title: "Against the median", hint: "Its duration minus that of the median step", width: 148, right: true,
        value: (step) => lengthOf(step) - (median ? lengthOf(median) : 0), cell: (step) => signed(lengthOf(step) - (median ? lengthOf(median) : 0)) },
      { id: "span", title: `${kind} window`, hint: "From the last GPU activity of the step before to its own last; the classes add up to it", width: 106, right: true, value: (step) => step.span, cell: (step) => <span title={formatDuration(step.span)}>{formatShort(step.span)}</span> },
      { id: "start", title: "Start", width: 100, right: true, value: (step) => step.start, cell: (step) => <span title={formatDuration(step.start)}>{formatShort(step.start)}</span> },
    ];
  }, [kind, steps, onPart, onChoose]);
  return <DataTable label="Steps" columns={columns} rows={steps} sort={sort} onSort={setSort} least={64} marked={(step) => step === chosen} onRow={(step) => () => onChoose(step)} />;
}

type By = "gpu" | "cpu" | "kernels";
const REPORTS: Record<By, { report: string; options: Record<string, string>; name: string; value: string }> = {
  gpu: { report: "operators", options: { by: "step" }, name: "name", value: "gpu_self" },
  cpu: { report: "operators", options: { by: "step" }, name: "name", value: "cpu_self" },
  kernels: { report: "kernels", options: { by: "short,step" }, name: "name", value: "total" },
};

const CHANGES: Column<Change>[] = [
  { id: "name", title: "Name", right: false, value: ({ name }) => name, cell: ({ name }) => <bdi title={name}>{name || "(no name)"}</bdi> },
  { id: "there", title: "This step", width: 96, right: true, value: ({ there }) => there, cell: ({ there }) => <span title={formatDuration(there)}>{formatShort(there)}</span> },
  { id: "usual", title: "Median step", width: 124, right: true, value: ({ usual }) => usual, cell: ({ usual }) => <span title={formatDuration(usual)}>{formatShort(usual)}</span> },
  { id: "change", title: "Difference", width: 112, right: true, value: ({ there, usual }) => there - usual, cell: ({ there, usual }) => signed(there - usual) },
];

// What the step has more and less than the median one.
// `how`: options of the reports that say what a step is.
export function StepChange({ app, trace, step, median, how, onChoose }: { app: App; trace: TraceId; step: Step; median: Step; how: Record<string, string>; onChoose: (step: Step) => void }): JSX.Element {
  const kind = deviceKind(app, trace);
  const [by, setBy] = useState<By>("gpu");
  const [sort, setSort] = useState<Sort>({ id: "", down: true });
  const { report, options, name, value } = REPORTS[by];
  const asked = useRequest<ReportTable[]>(step === median ? null : `${trace}/${report}/${step.start}/${median.start}`, async (signal) =>
    (await app.source.report(trace, report, { ...options, ...how, of_steps: `${step.start},${median.start}` }, signal)).tables);
  const changes = useMemo(() => (asked.value ? changesOf(recordsOf(asked.value, report), name, value, step, median).slice(0, MOST_CHANGES) : []), [asked.value, by, step, median]);
  const change = lengthOf(step) - lengthOf(median);
  return (
    <section class="stepchange" aria-label={`${step.name} against the median step`} aria-busy={asked.loading}>
      <h4><bdi>{step.name}</bdi> <span class="dim">{formatShort(lengthOf(step))}{step === median ? ", the median step" : <>, {signed(change)} against the median step, <button type="button" class="link" onClick={() => onChoose(median)}><bdi>{median.name}</bdi></button></>}</span></h4>
      <p class="changes" title={`On the ${kind}: from its last activity of the step before to its last of this step. A first step begins with its first.`}>
        <span>{kind} window <b>{step === median ? formatShort(step.span) : signed(step.span - median.span)}</b></span>
        {PARTS.map(([part, title]) => (
          <span key={part}><span class={`swatch class-${part}`} aria-hidden="true" />{title} <b>{step === median ? formatShort(step.parts[part]) : signed(step.parts[part] - median.parts[part])}</b></span>
        ))}
      </p>
      {step !== median && (
        <>
          <Choice label="By" value={by} options={[["gpu", `operators, ${kind} time`], ["cpu", "operators, own CPU time"], ["kernels", "kernels"]]} onChange={setBy} />
          {asked.error || !asked.value ? <Waiting asked={asked} what="the difference" />
            : changes.length === 0 ? <p class="hint">{by === "kernels" ? "No kernel was launched in these steps." : "The trace has no operators in these steps: look at kernels."}</p>
            : <div class="changegrid" style={{ height: gridHeight(changes.length) }}><DataTable label="Difference to the median step" columns={CHANGES} rows={changes} sort={sort} onSort={setSort} /></div>}
        </>
      )}
    </section>
  );
}
