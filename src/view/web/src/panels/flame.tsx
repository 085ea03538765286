// Flame: where the time of a stretch goes, by stack; a picture and a table.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { App } from "../app";
import { drawnTheme } from "../bar/theme";
import { DataTable, type Column, type Sort } from "./datatable";
import { flameMatched, flamePath, flameTable, flameTree, type FlameNode, type FlameRow } from "./flame_layout";
import { FlamePicture } from "./flame_picture";
import { formatBytesExact, formatCount, formatDuration, formatPercent, formatShort, plural } from "../format";
import type { FlameResult, TraceId } from "../data/model";
import { mergeFlames } from "./flame_merge";
import { deviceKind, offsetOf, traceName } from "../tools/navigate";
import { Choice, Waiting } from "./parts";
import { useRequest } from "../data/request";
import { ScopeBar, currentScope } from "./scope_bar";

const ofKind = (kind: string) => [
  ["auto", `${kind} time, if there is any`], ["gpu-time", `${kind} time`], ["cpu-time", "CPU time"], ["cpu-self", "CPU time without children"],
  ["launches", "launches"], ["bytes", "bytes copied"], ["samples", "samples"],
] as const;
const BY = [
  ["nothing", "nothing"], ["device", "device"], ["stream", "stream"], ["thread", "thread"], ["step", "step"], ["name", "name only"],
] as const;
type Of = ReturnType<typeof ofKind>[number][0];
type By = (typeof BY)[number][0];

const chosenOf = signal<Of>("auto");
const chosenBy = signal<By>("nothing");
const WAIT_MS = 250;

function formatWeight(value: number, unit: string): string {
  if (unit === "ns") return formatDuration(value);
  if (unit === "bytes") return formatBytesExact(value);
  return `${formatCount(value)} ${unit}`;
}

const shortWeight = (value: number, unit: string): string => (unit === "ns" ? formatShort(value) : formatWeight(value, unit));

export function FlamePanel({ app }: { app: App }): JSX.Element {
  const traces = (app.state.session.value?.traces ?? []).filter((each) => each.state === "ready");
  const [chosen, setChosen] = useState<TraceId | "all">(traces[0]?.id ?? 0);
  const one = traces.find((each) => each.id === chosen) ?? traces[0];
  const shown = (chosen === "all" ? traces : one ? [one] : []).map((each) => each.id);
  const scope = currentScope(app);
  const [of, by] = [chosenOf.value, chosenBy.value];
  const key = shown.length === 0 ? null : `${shown.join()}/${scope.from}/${scope.until}/${of}/${by}`;
  const asked = useRequest<FlameResult>(key, async (abort) => {
    const results = await Promise.all(shown.map((trace) => {
      const offset = offsetOf(app, trace);
      return app.source.flame(trace, scope.from - offset, scope.until - offset, of, by, abort);
    }));
    return chosen === "all" || !results[0] ? mergeFlames(results.map((result, at) => ({ name: traceName(app, shown[at] as TraceId), result }))) : results[0];
  }, WAIT_MS);
  return (
    <div class="stacked" aria-busy={asked.loading}>
      <div class="bar">
        {traces.length > 1 && (
          <Choice label="Trace" value={chosen === "all" ? "all" : String(one?.id)}
            options={[...traces.map((each) => [String(each.id), traceName(app, each.id)] as const), ["all", "all, a frame for each"] as const]}
            onChange={(value) => setChosen(value === "all" ? "all" : Number(value))} />
        )}
        <Choice label="Width of a frame" value={of} options={ofKind(deviceKind(app))} onChange={(value) => { chosenOf.value = value; }} />
        <Choice label="Split by" value={by} options={BY} onChange={(value) => { chosenBy.value = value; }} />
        <ScopeBar app={app} scope={scope} allTracks />
      </div>
      {traces.length === 0 ? <p class="hint">No trace is ready yet.</p>
        : asked.error || !asked.value ? <Waiting asked={asked} what="the flame graph" />
        : <Flame app={app} result={asked.value} />}
    </div>
  );
}

// The node of another tree at the same path, or the deepest that is still there.
function follow(root: FlameNode, path: readonly string[]): FlameNode {
  let node = root;
  for (const name of path) {
    const child = node.children.find((each) => each.name === name);
    if (!child) break;
    node = child;
  }
  return node;
}

function Flame({ app, result }: { app: App; result: FlameResult }): JSX.Element {
  const [path, setPath] = useState<string[]>([]); // kept by names, so that the zoom stays while the view moves
  const [find, setFind] = useState("");
  const root = useMemo(() => flameTree(result), [result]);
  const zoomed = follow(root, path);
  const needle = find.toLowerCase();
  const matches = useMemo(() => (needle ? (name: string) => name.toLowerCase().includes(needle) : null), [needle]);
  const zoom = (node: FlameNode): void => setPath(flamePath(node).slice(1).map((each) => each.name));
  if (result.total === 0) return <p class="hint">Nothing of that is in this stretch.</p>;
  const part = (value: number): string => `${shortWeight(value, result.unit)} (${formatPercent(value / result.total)})`;
  return (
    <div class="split half">
      <div class="main">
        <div class="bar">
          <label class="pick"><span>Find</span>
            <input type="search" value={find} spellcheck={false} onInput={(event) => setFind(event.currentTarget.value)} />
          </label>
          {matches && <span>{result.left_out > 0 && "at least "}{part(flameMatched(root, matches))}</span>}
          <span class="dim">
            {ofKind(deviceKind(app)).find(([of]) => of === result.of)?.[1] ?? result.of}: <span title={formatWeight(result.total, result.unit)}>{shortWeight(result.total, result.unit)}</span>
            {result.no_stack > 0 && `, ${part(result.no_stack)} has no stack`}
            {result.left_out > 0 && `, ${plural(result.left_out, "frame")} too small to be drawn, in the table by name`}
          </span>
          {zoomed !== root && <button type="button" class="small" onClick={() => setPath([])}>Whole picture</button>}
        </div>
        <FlamePicture key={result.of} root={root} zoomed={zoomed} matches={matches} theme={drawnTheme.value} onZoom={zoom}
          describe={(node) => `${node.name}: ${part(node.total)}, self ${part(node.self)}`} />
      </div>
      <FlameSums top={zoomed} result={result} matches={matches} onFind={setFind} />
    </div>
  );
}

function FlameSums(props: { top: FlameNode; result: FlameResult; matches: ((name: string) => boolean) | null; onFind: (name: string) => void }): JSX.Element {
  const { top, result, matches, onFind } = props;
  const [sort, setSort] = useState<Sort>({ id: "self", down: true });
  const rows = useMemo(() => flameTable(top).filter((row) => !matches || matches(row.name)), [top, matches]);
  const unit = result.unit === "ns" ? "" : ` ${result.unit}`; // times have theirs in the cell
  const columns = useMemo<Column<FlameRow>[]>(() => {
    const weight = (value: number): JSX.Element | string =>
      (result.unit === "ns" ? <span title={formatDuration(value)}>{formatShort(value)}</span> : formatCount(value));
    return [
      { id: "name", title: "Frame", right: false, value: (row) => row.name, cell: (row) => (
        <button type="button" class="link" title={`${row.name}\nClick: find it in the picture`} onClick={() => onFind(row.name)}><bdi>{row.name}</bdi></button>
      ) },
      { id: "self", title: `Self${unit}`, width: 96, right: true, value: (row) => row.self, cell: (row) => weight(row.self) },
      { id: "selfshare", title: "Self %", width: 72, right: true, value: (row) => row.self, cell: (row) => formatPercent(row.self / top.total) },
      { id: "total", title: `Total${unit}`, width: 96, right: true, value: (row) => row.total, cell: (row) => weight(row.total) },
      { id: "totalshare", title: "Total %", width: 72, right: true, value: (row) => row.total, cell: (row) => formatPercent(row.total / top.total) },
    ];
  }, [result.unit, top]);
  return <div class="main"><DataTable label="Frames" columns={columns} rows={rows} sort={sort} onSort={setSort} /></div>;
}
