// The fidelity line at the bottom of the page, and its upkeep.
import { effect, signal } from "@preact/signals";
import { render, type JSX } from "preact";
import type { App } from "../app";
import { factsOf, sumFidelity } from "../panels/fidelity_facts";
import { clockRanks, clockTitle } from "../data/clocks";
import { meetingStatus, meetingText } from "../tracks/meetings";
import { flowStatus, flowsUnseen, flowText } from "../tracks/flows";
import { formatPercent, formatShort, plural } from "../format";
import type { TraceId, TraceInfo } from "../data/model";
import { shownList } from "../panels/fidelity";
import { showsFailure } from "../data/reading";
import { messageOf } from "../data/request";

const RETRY_MS = 1500;
const attempt = signal(0); // grows where a question is to be asked again
const errors = signal<Map<TraceId, string>>(new Map());

export function mountFidelity(el: HTMLElement, app: App): void {
  render(<Line app={app} />, el);
  attachFidelity(app);
}

// Requested when a trace becomes ready, and again when more of it is computed.
function attachFidelity(app: App): void {
  const asked = new Map<TraceId, string>();
  const { state, source } = app;
  effect(() => {
    void attempt.value;
    for (const trace of state.session.value?.traces ?? []) {
      if (trace.state !== "ready" || trace.busy !== "") continue; // until all is laid out the server answers 409
      const version = `${state.session.value?.session}/${trace.tracks}/${trace.busy}`;
      if (asked.get(trace.id) === version) continue;
      asked.set(trace.id, version);
      source.fidelity(trace.id).then(
        (fidelity) => {
          if (asked.get(trace.id) !== version) return; // a later answer is on its way
          state.fidelity.value = new Map(state.fidelity.peek()).set(trace.id, fidelity);
          const rest = new Map(errors.peek());
          if (rest.delete(trace.id)) errors.value = rest;
        },
        (error: unknown) => {
          if (asked.get(trace.id) !== version) return;
          asked.delete(trace.id);
          setTimeout(() => { attempt.value++; }, RETRY_MS);
          const now = state.session.peek()?.traces.find((each) => each.id === trace.id);
          if (!now || now.busy) return; // unknown yet, and the line shows what is being done
          errors.value = new Map(errors.peek()).set(trace.id, messageOf(error));
        },
      );
    }
  });
}

function progressOf(trace: TraceInfo): string {
  if (trace.state === "failed") return `${trace.name}: ${trace.error ?? "could not be read"}`;
  if (trace.state === "reading") return `${trace.name}: reading${trace.total > 0 ? `, ${formatPercent(trace.done / trace.total)}` : ""}`;
  return trace.busy ? `${trace.name}: ${trace.busy}` : trace.part ? `${trace.name}: only the ${trace.part}` : "";
}

// Whether times of ranks are as their clocks or as their files say, once clocks were compared.
function Clocks({ app }: { app: App }): JSX.Element | null {
  const { aligned, session } = app.state;
  const traces = session.value?.traces.filter((trace) => trace.clock) ?? [];
  if (traces.length < 2) return null;
  if (session.value?.diff) return <span class="dim" title={traces.slice(0, 40).map(clockTitle).join("\n")}>aligned by step</span>;
  const bars = traces.flatMap(({ clock }) => (clock && clock.offset_ns !== null ? [clock.bar_ns ?? 0] : []));
  const title = traces.slice(0, 40).map(clockTitle).join("\n");
  const why = traces.find(({ clock }) => clock?.offset_ns === null)?.clock?.why;
  if (bars.length < 2) return <span class="dim" title={title}>ranks are not aligned: {why ?? "their clocks are not known"}</span>;
  const by = traces.flatMap(({ clock }) => (clock ? [clockRanks(clock)] : []))[0];
  const some = bars.length < traces.length ? `${bars.length} of ${plural(traces.length, "trace")} aligned` : "aligned";
  return (
    <button type="button" class="fact" aria-pressed={aligned.value} title={`${title}\nClick: by these clocks, or as the files have them`} onClick={() => app.commands.run("clocks")}>
      {aligned.value ? `${some} ± ${formatShort(Math.max(...bars))} by ${by}` : "raw clocks"}
    </button>
  );
}

function Line({ app }: { app: App }): JSX.Element {
  const { state } = app;
  const traces = state.session.value?.traces ?? [];
  const known = traces.map((trace) => state.fidelity.value.get(trace.id)).filter((each) => each !== undefined);
  const open = (list: string | null): void => {
    shownList.value = list;
    state.tab.value = "fidelity";
  };
  const busy = traces.map((trace) => [trace, progressOf(trace)] as const).filter(([trace, text]) => text !== "" && (trace.state !== "failed" || showsFailure(trace)));
  const flows = flowStatus.value;
  const meetings = meetingText(meetingStatus.value);
  return (
    <div class="fidelityline">
      {known.length === 0 && busy.length === 0 && <span class="dim">{traces.length ? "Counting …" : "No trace is open."}</span>}
      {known.length > 0 && factsOf(sumFidelity(known)).map((fact, at) => (
        <button key={at} type="button" class={fact.problem ? "fact warn" : "fact"} title="Show the list" onClick={() => open(fact.list)}>
          {fact.problem && <span role="img" aria-label="Problem: ">⚠ </span>}{fact.text}
        </button>
      ))}
      {traces.length > 1 && known.length > 0 && <span class="dim">{known.length < traces.length ? `of ${known.length} of ` : "of "}{plural(traces.length, "trace")}</span>}
      <Clocks app={app} />
      {busy.map(([trace, text]) => (
        <span key={trace.id} class={trace.state === "failed" ? "bad" : "dim"}>{trace.state === "failed" && <span role="img" aria-label="Error: ">⚠ </span>}{text}</span>
      ))}
      {[...errors.value].map(([trace, text]) => <span key={trace} class="bad"><span role="img" aria-label="Error: ">⚠ </span>{text}</span>)}
      <span class="push" />
      {state.selected.value.length === 0 && !state.area.value && flows.count === 0 && !meetings && (
        <span class="dim">W/S zoom · A/D move · drag: table of a range · [ ]: launch and kernel · / search · ? all keys</span>
      )}
      {meetings && <span class={meetingStatus.value.error ? "bad" : "dim"}>{meetings}</span>}
      {state.flows.value.mode !== "off" && (flows.count > 0 || flows.error) && (
        <span class={flows.error ? "bad" : "dim"} aria-live="polite">{flows.error && <span role="img" aria-label="Error: ">⚠ </span>}{flowText(flows, flowsUnseen.value)}</span>
      )}
    </div>
  );
}
