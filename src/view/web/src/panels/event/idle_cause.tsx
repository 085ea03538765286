// Why a device is idle in a gap: the cause and the host's part as `heddle report idle` has them, and what ended the gap.
import type { JSX } from "preact";
import type { App } from "../../app";
import type { DerivedDetail, EventDetail, ReportAnswer, TraceId } from "../../data/model";
import { useRequest } from "../../data/request";
import { findTrack, goTo } from "../../tools/navigate";
import { trackKey } from "../../state";
import { eventOfId } from "../../url_text";
import { Fact, Facts, Waiting } from "../parts";
import { numberOf, recordsOf, textOf, type Fields } from "../start/start_data";
import { editor } from "./editor";
import { EditorLink, lineTitle, sourceFrame, whereText } from "./stack";

const CAUSES: Record<string, string> = {
  host: "the host had not launched anything yet", sync: "the host waited for the device", launch: "the launch was under way",
  dependency: "it waited for an event of another queue", transfer: "another device sent or copied", device: "nothing that is recorded: work was queued",
};

function gapOf(answer: ReportAnswer, start: number, device: number | undefined): Fields | undefined {
  return recordsOf(answer.tables, "gaps").find((row) => row.start === start && (device === undefined || row.device === device));
}

function Link({ app, trace, id, text }: { app: App; trace: TraceId; id: number | null; text: string }): JSX.Element {
  const event = id === null ? null : eventOfId(id % 2 ** 40);
  if (!event) return <bdi>{text}</bdi>;
  return <button type="button" class="link" title={text} onClick={() => void goTo(app, trace, event.kind, event.row)}><bdi>{text}</bdi></button>;
}

export function IdleCause({ app, trace, detail }: { app: App; trace: TraceId; detail: DerivedDetail }): JSX.Element | null {
  const { start, duration } = detail;
  const asked = useRequest<ReportAnswer>(`${trace}/${detail.track}/${start}`, (abort) =>
    app.source.report(trace, "idle", { from: `${start}ns`, until: `${start + duration}ns`, rows: "16" }, abort));
  const gap = asked.value && gapOf(asked.value, start, findTrack(app, trackKey(trace, detail.track))?.device);
  const call = gap ? numberOf(gap, "call_id") : null;
  const launch = useRequest<EventDetail>(call === null ? null : `${trace}/${call}/${editor.value.skip}`, (abort) => app.source.event(trace, "slice", (call ?? 0) % 2 ** 38, abort, editor.value.skip));
  if (asked.error || !asked.value) return <section aria-label="Why it is idle"><h4>Why it is idle</h4><Waiting asked={asked} what="the cause" /></section>;
  if (!gap) return null;
  const cause = textOf(gap, "cause");
  const own = launch.value?.stack && sourceFrame(launch.value.stack);
  return (
    <section aria-label="Why it is idle">
      <h4>Why it is idle</h4>
      <Facts>
        <Fact title="Cause"><b>{cause}</b>: {CAUSES[cause] ?? "see report idle"}</Fact>
        {own && <Fact title={lineTitle(own)}><bdi class="mono">{whereText(own)}</bdi> <bdi class="dim">{own.name}</bdi> <EditorLink frame={own} /></Fact>}
        {textOf(gap, "host") && <Fact title="Meanwhile the host was in"><bdi>{textOf(gap, "host")}</bdi></Fact>}
        {textOf(gap, "frame") && <Fact title="in the function"><bdi>{textOf(gap, "frame")}</bdi></Fact>}
        {textOf(gap, "call") && <Fact title={cause === "sync" ? "The call that waited" : "The launch that ended it"}><Link app={app} trace={trace} id={call} text={textOf(gap, "call")} /></Fact>}
        {textOf(gap, "work") && <Fact title="What ended it"><Link app={app} trace={trace} id={numberOf(gap, "work_id")} text={textOf(gap, "work")} /></Fact>}
      </Facts>
    </section>
  );
}
