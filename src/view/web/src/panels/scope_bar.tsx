// "Over: …": which stretch of time a panel looks at, shared by Selection and Flame.
import { signal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import type { App } from "../app";
import { formatDuration, plural } from "../format";
import { findTrack, offsetOf, tracksShown } from "../tools/navigate";
import { Choice } from "./parts";
import { scopeOf, tracksOf, type Scope, type ScopeChoice } from "./scope";
import { trackKey, type Range } from "../state";

const choice: Signal<ScopeChoice> = signal("auto");

const OPTIONS: readonly (readonly [ScopeChoice, string])[] = [
  ["auto", "what is selected"], ["area", "the box"], ["events", "the selected events"], ["timing", "the timed stretch"],
  ["view", "what is in view"], ["whole", "the whole trace"],
];

const WORDS: Record<Scope["what"], string> = {
  area: "the box", events: "the selected events", timing: "the timed stretch", view: "what is in view", whole: "the whole",
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

// It stays what is looked at, whatever is selected or shown next.
export function holdScope(app: App, scope: Scope): void {
  const { area, whole } = app.state;
  const isWhole = scope.from <= whole.value.from && scope.until >= whole.value.until;
  if (!isWhole && scope.what !== "area") area.value = { from: scope.from, until: scope.until, tracks: null };
  choice.value = isWhole ? "whole" : "area";
}

// ", 3 tracks": which count, where it is not all of them.
function tracksText(app: App, scope: Scope): string {
  const seen = tracksShown(app);
  if (!scope.tracks && !seen) return "";
  const { session, tracks } = app.state;
  const keys = (session.value?.traces ?? []).flatMap(({ id }) =>
    (tracksOf(scope, id, tracks.value, seen) ?? []).map((track) => trackKey(id, track)));
  const derived = keys.length > 0 && keys.every((key) => findTrack(app, key)?.derived);
  return `, ${plural(keys.length, "track")}${derived ? " that Heddle worked out: they show events of others, some of them twice" : ""}`;
}

// `allTracks`: of the panel, whatever the scope has.
export function ScopeBar({ app, scope, allTracks = false }: { app: App; scope: Scope; allTracks?: boolean }): JSX.Element {
  const tracks = tracksText(app, scope);
  return (
    <>
      <Choice label="Over" value={choice.value} options={OPTIONS} onChange={(value) => { choice.value = value; }} />
      <span class="dim">
        {WORDS[scope.what]}: {formatDuration(scope.from)} + {formatDuration(scope.until - scope.from)}
        {allTracks && tracks ? ", all tracks" : tracks}
      </span>
      {app.state.area.value && (
        <button type="button" class="small" onClick={() => { app.state.area.value = null; }}>Drop the box</button>
      )}
    </>
  );
}
