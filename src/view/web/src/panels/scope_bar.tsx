// "Over: …": which stretch of time a panel looks at, shared by Selection and Flame.
import { signal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import type { App } from "../app";
import { formatDuration, formatShort, plural } from "../format";
import { findTrack, offsetOf, tracksShown } from "../tools/navigate";
import { Choice } from "./parts";
import { scopeOf, tracksOf, type Scope, type ScopeChoice } from "./scope";
import { trackKey, type Area, type Range } from "../state";

const choice: Signal<ScopeChoice> = signal("auto");

const OPTIONS: readonly (readonly [ScopeChoice, string])[] = [
  ["auto", "what is selected, else in view"], ["area", "the box"], ["events", "the selected events"], ["timing", "the timed stretch"],
  ["view", "what is in view"], ["whole", "the whole trace"],
];

const WORDS: Record<Scope["what"], string> = {
  area: "the box", events: "the selected events", timing: "the timed stretch", view: "what is in view", whole: "the whole trace",
};

function spanOfSelected(app: App): Range | null {
  const { selected } = app.state;
  if (selected.value.length < 2) return null;
  let from = Infinity;
  let until = -Infinity;
  for (const ref of selected.value) {
    const start = ref.start + offsetOf(app, ref.trace);
    from = Math.min(from, start);
    until = Math.max(until, start + ref.duration);
  }
  return from < until ? { from, until } : null;
}

export function currentScope(app: App): Scope {
  const { area, timing, range, whole } = app.state;
  const scope = scopeOf(choice.value, {
    area: area.value, events: spanOfSelected(app), timing: timing.value, view: range.value, whole: whole.value,
  });
  const from = Math.floor(scope.from);
  return { ...scope, from, until: Math.max(from + 1, Math.ceil(scope.until)) };
}

// The scope of a report while its events are visited, until another box or range is chosen.
const held: Signal<{ scope: Scope; area: Area | null; choice: ScopeChoice } | null> = signal(null);

export function holdScope(app: App, scope: Scope): void {
  if (scope.what !== "area" && scope.what !== "whole") held.value = { scope, area: app.state.area.value, choice: choice.value };
}

export function heldScope(app: App): Scope | null {
  return held.value && held.value.area === app.state.area.value && held.value.choice === choice.value ? held.value.scope : null;
}

// ", 3 tracks": the counted ones, if not all.
function tracksText(app: App, scope: Scope): string {
  const seen = tracksShown(app);
  if (!scope.tracks && !seen) return "";
  const { session, tracks } = app.state;
  const keys = (session.value?.traces ?? []).flatMap(({ id }) =>
    (tracksOf(scope, id, tracks.value, seen) ?? []).map((track) => trackKey(id, track)));
  const derived = keys.length > 0 && keys.every((key) => findTrack(app, key)?.derived);
  return `, ${plural(keys.length, "track")}${derived ? " that Heddle worked out: they show events of others, some of them twice" : ""}`;
}

// `allTracks`: the panel always uses all tracks; `isHeld`: it is that of heldScope.
export function ScopeBar({ app, scope, allTracks = false, isHeld = false }: { app: App; scope: Scope; allTracks?: boolean; isHeld?: boolean }): JSX.Element {
  const tracks = tracksText(app, scope);
  return (
    <>
      <Choice label="Over" value={choice.value} options={OPTIONS} onChange={(value) => { choice.value = value; }} />
      <span class="dim">
        {isHeld ? "held" : WORDS[scope.what]}: <span title={`${formatDuration(scope.from)} to ${formatDuration(scope.until)}`}>{formatShort(scope.until - scope.from)} from {formatShort(scope.from)} on</span>
        {allTracks && tracks ? ", all tracks" : tracks}
      </span>
      {isHeld && (
        <button type="button" class="small" title="The report stays as it was while its events are looked at" onClick={() => { held.value = null; }}>Follow the view</button>
      )}
      {app.state.area.value && (
        <button type="button" class="small" onClick={() => { app.state.area.value = null; }}>Drop the box</button>
      )}
    </>
  );
}
