// The boxes of a flame graph on a canvas, root on top. Click or Enter zooms, arrows walk, Escape goes back.
import type { JSX, TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { flameAt, flameBoxes, flameHeight, flameStep, type FlameBox, type FlameNode } from "./flame_layout";
import { scaled } from "../scale";

const rowHeight = (): number => scaled(18);
const LEAST_PX = 0.4;
const TEXT_PX = 24; // boxes narrower than this have none

interface Props {
  root: FlameNode;
  zoomed: FlameNode;
  matches: ((name: string) => boolean) | null;
  theme: string;
  onZoom: (node: FlameNode) => void;
  describe: (node: FlameNode) => string;
}

function hueOf(name: string): number {
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) | 0;
  return hash >>> 0;
}

// Warm for the CPU, blue for the GPU; within those by name. Yellow is reserved for search hits.
function toneOf(node: FlameNode, dark: boolean, dim: boolean): string {
  const hash = hueOf(node.name);
  const gpu = /gpu|kernel|memcpy|memset/i.test(node.kind) || node.name.startsWith("[GPU");
  const hue = node.index < 0 ? 220 : gpu ? 205 + (hash % 30) : 18 + (hash % 24);
  const color = node.index < 0 || dim ? 8 : 45 + (hash % 15);
  const light = (dark ? 30 : 74) + ((hash >>> 8) % 8);
  return `hsl(${hue} ${color}% ${light}%)`;
}

function clip(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let low = 0;
  let high = Math.min(text.length, Math.ceil(width / 3));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : "";
}

interface Paint {
  boxes: readonly FlameBox[];
  focus: FlameNode | null;
  width: number;
  matches: Props["matches"];
}

function paint(canvas: HTMLCanvasElement, { boxes, focus, width, matches }: Paint): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const [ink, accent, back] = ["--fg", "--accent", "--bg"].map((name) => style.getPropertyValue(name).trim() || "gray");
  const dark = document.documentElement.dataset.theme === "dark";
  const ratio = devicePixelRatio || 1;
  const row = rowHeight();
  const height = flameHeight(boxes) * row;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  context.fillStyle = back ?? "white";
  context.fillRect(0, 0, width, height);
  context.font = `${scaled(11)}px ${style.fontFamily}`;
  context.textBaseline = "middle";
  context.direction = "ltr";
  for (const { node, x, width: share, depth } of boxes) {
    const [left, top, wide] = [x * width, depth * row, share * width];
    const found = matches !== null && node.index >= 0 && matches(node.name);
    context.fillStyle = found ? (dark ? "hsl(52 85% 42%)" : "hsl(52 100% 62%)") : toneOf(node, dark, matches !== null);
    context.fillRect(left, top, Math.max(LEAST_PX, wide - (wide > 3 ? 1 : 0)), row - 1);
    if (node === focus) {
      context.strokeStyle = accent ?? "blue";
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 1, Math.max(1, wide - 3), row - 3);
    }
    if (wide < TEXT_PX) continue;
    context.fillStyle = ink ?? "black";
    context.fillText(clip(context, node.name.replace(/[\u0000-\u001f]+/g, " "), wide - 8), left + 4, top + row / 2);
  }
}

// The width of an element, as it changes.
function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!box.current) return undefined;
    const observer = new ResizeObserver(() => setWidth(box.current?.clientWidth ?? 0));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

export function FlamePicture({ root, zoomed, matches, theme, onZoom, describe }: Props): JSX.Element {
  const [box, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [focus, setFocus] = useState<FlameNode | null>(null);
  const [hover, setHover] = useState<FlameNode | null>(null);
  const boxes = useRef<FlameBox[]>([]);
  useEffect(() => {
    if (!canvas.current || width <= 0) return;
    boxes.current = flameBoxes(zoomed, LEAST_PX / width);
    paint(canvas.current, { boxes: boxes.current, focus, width, matches });
  }, [zoomed, matches, width, focus, theme]);
  const at = (event: TargetedMouseEvent<HTMLCanvasElement>): FlameNode | null => {
    const area = event.currentTarget.getBoundingClientRect();
    return flameAt(boxes.current, (event.clientX - area.left) / Math.max(1, area.width), Math.floor((event.clientY - area.top) / rowHeight()));
  };
  const zoomTo = (node: FlameNode): void => {
    setFocus(node);
    onZoom(node);
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLCanvasElement>): void => {
    const node = focus ?? zoomed;
    setHover(null); // the picture describes the node with the keyboard focus
    const next = flameStep(node, event.key);
    if (next) setFocus(next);
    else if (event.key === "Enter" || event.key === " ") zoomTo(node);
    else if (event.key === "Escape" && zoomed.parent) zoomTo(zoomed.parent);
    else if (event.key === "Home") zoomTo(root);
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const told = hover ?? focus ?? zoomed;
  return (
    <>
      <p class="flametext" aria-live="polite"><bdi>{describe(told)}</bdi></p>
      <div class="flame" ref={box}>
        <canvas ref={canvas} tabIndex={0} role="application" aria-label={`Flame graph. Arrow keys walk, Enter zooms, Escape goes back. ${describe(focus ?? zoomed)}`}
          onKeyDown={onKeyDown} onMouseMove={(event) => setHover(at(event))} onMouseLeave={() => setHover(null)}
          onClick={(event) => {
            const node = at(event);
            if (node) zoomTo(node);
          }} />
      </div>
    </>
  );
}
