// The hovered event: state.hovered, and a tooltip next to the pointer. Follows the pointer frame by frame.
import { effect } from "@preact/signals";
import type { App } from "../app";
import { hitAt, offsetOf, spotAt, type Hit, type Spot } from "./at_pixel";
import { formatCount, formatDuration, formatShort, formatValue } from "../format";
import { lastNotAbove } from "./hit";
import type { EventRef, SeriesInfo } from "../data/model";
import { TILE_COLUMNS } from "../data/model";
import { sameEvent } from "../tools/select_actions";
import type { ToolPlace } from "../tools/tools";

// The value that a counter has at a spot, as loaded.
function counterText(app: App, spot: Spot): string | null {
  const track = spot.place?.track;
  if (!track || track.kind !== "counter" || !track.series) return null;
  const time = spot.time - offsetOf(app, track.trace);
  const ideal = Math.max(0, Math.min(54, Math.floor(Math.log2(app.hands.nsPerPx()))));
  for (const z of Array.from({ length: 55 }, (_, k) => k).sort((a, b) => Math.abs(a - ideal) - Math.abs(b - ideal))) {
    const i = Math.floor(time / (TILE_COLUMNS * 2 ** z));
    const tile = app.tiles.get(track.trace, track.id, z, i, spot.place?.summary ?? false)
      ?? app.tiles.get(track.trace, track.id, z, i, false);
    if (!tile || tile.series.length === 0) continue;
    const shown = spot.place?.collapsed ? track.series.map((_, k) => k) : [spot.depth];
    const texts = shown.slice(0, 8).map((k) => seriesText(tile.series[k], track.series?.[k], Math.floor(time / 2 ** z) - i * TILE_COLUMNS));
    const lines = texts.filter((text) => text !== null);
    return lines.length > 0 ? lines.join("\n") : null;
  }
  return null;
}

interface Samples {
  column: Uint16Array;
  last: Float64Array;
  min: Float64Array;
  max: Float64Array;
  count: Uint32Array;
}

function seriesText(samples: Samples | undefined, info: SeriesInfo | undefined, column: number): string | null {
  if (!samples || !info) return null;
  // The sample before the tile (65535) is at the end of the ascending columns.
  const listed = samples.column.length;
  const before = listed > 0 && samples.column[listed - 1] === 65535 ? listed - 1 : -1;
  const at = lastNotAbove(before >= 0 ? samples.column.subarray(0, before) : samples.column, column);
  const k = at >= 0 ? at : before;
  if (k < 0) return null;
  // A curve that ends has no value behind its last sample.
  const ended = Number.isNaN(samples.last[k] as number);
  if (ended && (k === before || samples.column[k] !== column)) return null;
  const name = info.name ? `${info.name}: ` : "";
  const many = at >= 0 && samples.column[k] === column && (samples.count[k] as number) > 1;
  if (many) {
    return `${name}${formatValue(samples.min[k] as number, info.unit)} to ${formatValue(samples.max[k] as number, info.unit)} (${samples.count[k]} samples)`;
  }
  return name + formatValue((ended ? samples.max[k] : samples.last[k]) as number, info.unit);
}

function hitText(app: App, hit: Hit, spot: Spot): string {
  if (!hit.exact) {
    const events = hit.count === 0 ? "" : hit.count === 1 ? "1 event starts here, " : `${formatCount(hit.count)} events start here, `;
    return `${events}the longest ${formatDuration(hit.longest)}`;
  }
  const label = app.names.label(hit.event.trace, hit.event.name) || (hit.event.name === 0 ? "without a name" : "…");
  const offset = offsetOf(app, hit.event.trace);
  const stepped = spot.place?.summary ? "\n(several rows as one)" : "";
  return `${label}\n${hit.event.duration === 0 ? "no length" : formatDuration(hit.event.duration)} at ${formatShort(hit.event.start + offset)}${stepped}`;
}

// Returns the callback for the pointer's position.
export function attachHover(place: ToolPlace): (spot: Spot | null) => void {
  const { app, canvas } = place;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  canvas.parentElement?.append(tip);
  let spot: Spot | null = null;
  let frame = 0;

  const update = (): void => {
    frame = 0;
    const hit = spot ? hitAt(app, spot, canvas.clientWidth) : null;
    const event: EventRef | null = hit?.exact && !spot?.place?.summary ? hit.event : null;
    const old = app.state.hovered.value;
    if (event === null ? old !== null : old === null || !sameEvent(old, event)) {
      app.state.hovered.value = event;
      app.redraw();
    }
    const text = !spot ? null : hit ? hitText(app, hit, spot) : counterText(app, spot);
    tip.hidden = text === null;
    if (!spot || text === null) return;
    tip.textContent = text;
    // Next to the pointer, on the side with room.
    const width = tip.offsetWidth;
    const height = tip.offsetHeight;
    const left = spot.x + 14 + width > canvas.clientWidth ? spot.x - 10 - width : spot.x + 14;
    const top = spot.y + 18 + height > canvas.clientHeight ? spot.y - 10 - height : spot.y + 18;
    Object.assign(tip.style, { left: `${Math.max(0, left)}px`, top: `${Math.max(0, top)}px` });
  };
  const later = (): void => { if (frame === 0) frame = requestAnimationFrame(update); };
  // Keys move the view below a pointer that rests: what is under it then is something else.
  const { range, scroll, collapsed, hidden, trackFilter } = app.state;
  effect(() => {
    for (const signal of [range, scroll, collapsed, hidden, trackFilter]) void signal.value;
    if (!spot) return;
    spot = spotAt(app, canvas, spot.x, spot.y);
    later();
  });
  return (next) => {
    spot = next;
    later();
  };
}
