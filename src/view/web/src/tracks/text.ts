// Descriptions of a track in words.
import { formatCount, formatDuration, plural } from "../format";
import type { TrackInfo } from "../data/model";
import type { Place } from "./layout";

// The tooltip: everything that is known, a fact a line.
export function trackTitle(track: TrackInfo): string {
  const lines = [track.name];
  if (track.detail) lines.push(track.detail);
  if (track.derived) lines.push("Worked out of other events.");
  const ids = [
    ["process", track.pid], ["thread", track.tid], ["rank", track.rank], ["device", track.device], ["stream", track.stream],
  ].filter(([, value]) => value !== undefined && value !== null);
  if (ids.length) lines.push(ids.map(([name, value]) => `${name} ${value}`).join(", "));
  if (track.events > 0) lines.push(plural(track.events, "event"));
  if (track.on_lanes > 0) lines.push(`${formatCount(track.on_lanes)} of them cross others and have tracks of their own`);
  if (track.kind === "slices" && track.rows > 1) lines.push(plural(track.rows, "row"));
  if (track.start !== null && track.end !== null && track.kind !== "counter" && track.role !== "instants") {
    const span = formatDuration(track.end - track.start);
    // Derived tracks, and those that only describe a device's activities, have no busy time.
    if (track.covers !== undefined) lines.push(`covers ${formatDuration(track.covers)} of ${span}`);
    else lines.push(track.busy === null ? `spans ${span}, describes activities on other tracks` : `busy ${formatDuration(track.busy)} of ${span}`);
  }
  if (!track.exact) lines.push("Still being laid out.");
  for (const series of track.series ?? []) lines.push(`${series.name}: ${formatCount(series.min)} to ${formatCount(series.max)} ${series.unit}`.trim());
  return lines.join("\n");
}

// The text for screen readers.
export function trackLabel(place: Place): string {
  const { track } = place;
  const parts = [track.name];
  if (track.derived) parts.push("derived");
  if (track.kind === "section") parts.push("section");
  if (track.kind === "counter") parts.push("counter");
  if (track.role === "instants") parts.push("instants");
  if (track.events > 0) parts.push(plural(track.events, "event"));
  if (place.pinned) parts.push("pinned");
  return parts.join(", ");
}
