// The view as one picture: the axis, the names of the tracks, and what is drawn of them.
import { nameBelow } from "../data/trace_names";
import { scale } from "../scale";
import type { Place } from "../tracks/layout";
import { Canvas2dBackend } from "./canvas2d";
import { css, type Theme } from "./color";
import type { DrawList } from "./list";

interface Named {
  place: Place;
  y: number; // px from the top of the tracks
}

function nameText(context: CanvasRenderingContext2D, name: string, room: number): string {
  if (context.measureText(name).width <= room) return name;
  let size = name.length;
  while (size > 0 && context.measureText(`${name.slice(0, size)}…`).width > room) size--;
  return `${name.slice(0, size)}…`;
}

// `left`: px of the names; `make`: of a canvas for the bars, and of the result. null: the browser has no canvas.
export function viewPicture<T extends HTMLCanvasElement>(list: DrawList, theme: Theme, texts: T, axis: T, names: readonly Named[], left: number, make: () => T): T | null {
  const { ratio } = list;
  const [x, y] = [Math.round(left * ratio), axis.height];
  const bars = make();
  new Canvas2dBackend(bars).draw(list, theme.background);
  const out = make();
  out.width = x + list.width;
  out.height = y + list.height;
  const context = out.getContext("2d", { alpha: false });
  if (!context) return null;
  context.fillStyle = css(theme.background);
  context.fillRect(0, 0, out.width, out.height);
  context.drawImage(axis, x, 0);
  context.drawImage(bars, x, y);
  context.drawImage(texts, x, y);
  context.beginPath();
  context.rect(0, y, x, list.height);
  context.clip();
  context.textBaseline = "middle";
  context.direction = "ltr";
  for (const { place, y: top } of names) {
    const style = place.track.kind === "section" ? "bold " : place.track.derived ? "italic " : "";
    const indent = (8 + place.depth * 12) * scale.value * ratio;
    context.font = `${style}${Math.round(11 * scale.value * ratio)}px system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif`;
    context.fillStyle = css(theme.background);
    context.fillRect(0, y + Math.round(top * ratio), x, Math.round(place.height * ratio)); // pinned ones lie above others
    context.fillStyle = css(theme.text);
    context.fillText(nameText(context, nameBelow(place.track), x - indent - 4 * ratio), indent, y + Math.round((top + Math.min(place.rowHeight, place.height) / 2) * ratio));
    context.fillStyle = css(theme.line);
    context.fillRect(0, y + Math.round((top + place.height) * ratio) - 1, x, 1);
  }
  return out;
}
