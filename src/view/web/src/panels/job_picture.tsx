// The heat map of a job on a canvas: ranks down, steps across. Click or Enter opens, arrows walk, + - and the wheel zoom.
import type { JSX, TargetedKeyboardEvent, TargetedMouseEvent } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Job } from "../data/job";
import { cutText, safeText } from "../draw/text";
import { cellOf, colorAt, fieldsOf, showing, zoomed, type Extent, type Window } from "./job_layout";
import { scaled } from "../scale";

const [LEFT, TOP] = [110, 16]; // px of names of rows, and of steps
const LABEL_ROW = 13; // px that a name takes
const LABEL_STEP = 40;
const GRID = 7; // px from which cells have a line between them
const ZOOM = 1.25;
const PAGE = 10; // rows
const TONES = 256;

export interface Cell {
  row: number; // of the job
  step: number;
}

interface Props {
  job: Job;
  measure: string; // meaning of the figures
  figures: Float64Array;
  extent: Extent;
  order: readonly number[];
  groupOf: ((row: number) => string) | null; // a line is drawn where it changes
  theme: string;
  onPaint: () => void;
  describe: (cell: Cell) => string;
  onOpen: (cell: Cell) => void;
}

interface Size {
  width: number; // px of the cells
  height: number;
}

// At most one a pixel, across and down.
const fieldCounts = (job: Job, window: Window, { width, height }: Size): [number, number] => [Math.min(job.steps.length, width), Math.min(window.count, height)];

function paintCells(context: CanvasRenderingContext2D, props: Props, window: Window, { width, height }: Size, dark: boolean): void {
  const { job, figures, extent: { low, high }, order } = props;
  const [columns, bands] = fieldCounts(job, window, { width, height });
  const fields = fieldsOf(figures, job.steps.length, order, window, columns, bands);
  const pixels = new ImageData(columns, bands);
  const tones = new Uint32Array(Uint8ClampedArray.from(Array.from({ length: TONES }, (_, k) => [...colorAt(k / (TONES - 1), dark), 255]).flat()).buffer);
  const scale = high > low ? (TONES - 1) / (high - low) : 0;
  const words = new Uint32Array(pixels.data.buffer); // a pixel each, in the machine's byte order
  for (let at = 0; at < fields.length; at++) {
    const figure = fields[at] as number;
    if (!Number.isNaN(figure)) words[at] = tones[Math.min(TONES - 1, Math.max(0, Math.round((figure - low) * scale)))] as number;
  }
  const small = Object.assign(document.createElement("canvas"), { width: columns, height: bands });
  small.getContext("2d")?.putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, LEFT, TOP, width, height);
}

function paintLines(context: CanvasRenderingContext2D, { job, order, groupOf }: Props, window: Window, { width, height }: Size, [back, strong]: string[]): void {
  const [cellWidth, cellHeight] = [width / job.steps.length, height / window.count];
  context.fillStyle = back ?? "white";
  for (let step = 1; cellWidth >= GRID && step < job.steps.length; step++) context.fillRect(LEFT + step * cellWidth, TOP, 1, height);
  for (let at = 1; at < window.count; at++) {
    const isNew = groupOf !== null && groupOf(order[window.from + at - 1] as number) !== groupOf(order[window.from + at] as number);
    context.fillStyle = back ?? "white"; // also around the line of a group, which is as dark as some cells
    const y = Math.round(TOP + at * cellHeight);
    if (isNew && cellHeight >= GRID) context.fillRect(LEFT, y - 1, width, 3);
    if (isNew) context.fillStyle = strong ?? "gray";
    if (isNew || cellHeight >= GRID) context.fillRect(isNew ? 0 : LEFT, y, width + LEFT, 1);
  }
}

// Names where there is room; of groups the first row of each, if not all have room.
function paintNames(context: CanvasRenderingContext2D, { job, order, groupOf }: Props, window: Window, { width, height }: Size, ink: string): void {
  const [cellWidth, cellHeight] = [width / job.steps.length, height / window.count];
  context.fillStyle = ink;
  context.textBaseline = "middle";
  let [free, group] = [0, null as string | null]; // px from which there is room; of the row before
  for (let at = 0; at < window.count; at++) {
    const number = order[window.from + at] as number;
    const row = job.rows[number];
    const own = groupOf ? groupOf(number) : row?.host ?? "";
    const isFirst = own !== group;
    group = own;
    if (at * cellHeight < free || (groupOf && !isFirst && cellHeight < LABEL_ROW)) continue;
    const label = cutText(safeText(`${row?.name}${own ? ` · ${own}` : ""}`), LEFT - 8, (part) => context.measureText(part).width);
    context.fillText(label, 4, TOP + at * cellHeight + Math.max(cellHeight, LABEL_ROW) / 2);
    free = at * cellHeight + LABEL_ROW;
  }
  const across = Math.max(1, Math.ceil(LABEL_STEP / cellWidth));
  for (let step = 0; step < job.steps.length; step += across) {
    const name = job.steps[step] ?? "";
    context.fillText(/#?\d+( \(\d+\))?$/.exec(name)?.[0] ?? name, LEFT + step * cellWidth + 2, TOP / 2, across * cellWidth - 4);
  }
}

function paint(canvas: HTMLCanvasElement, props: Props, window: Window, focus: Cell | null, size: Size): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const style = getComputedStyle(canvas);
  const [ink, back, strong, accent] = ["--fg", "--bg", "--fg", "--accent"].map((name) => style.getPropertyValue(name).trim() || "gray");
  const ratio = devicePixelRatio || 1;
  const [width, height] = [size.width + LEFT, size.height + TOP];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  context.font = `${Math.min(13, scaled(11))}px ${style.fontFamily}`;
  context.direction = "ltr";
  paintCells(context, props, window, size, document.documentElement.dataset.theme === "dark");
  paintLines(context, props, window, size, [back ?? "white", strong ?? "gray"]);
  paintNames(context, props, window, size, ink ?? "black");
  const place = focus ? props.order.indexOf(focus.row) - window.from : -1;
  if (!focus || place < 0 || place >= window.count) return;
  const [cellWidth, cellHeight] = [size.width / props.job.steps.length, size.height / window.count];
  for (const [color, wide] of [[back, 5], [accent, 2]] as const) {
    context.strokeStyle = color ?? "blue";
    context.lineWidth = wide;
    context.strokeRect(LEFT + focus.step * cellWidth, TOP + place * cellHeight, Math.max(3, cellWidth), Math.max(3, cellHeight));
  }
}

// The room of an element, as it changes.
function useSize(): [{ current: HTMLDivElement | null }, Size] {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    if (!box.current) return undefined;
    const measure = (): void => {
      const next = { width: (box.current?.clientWidth ?? 0) - LEFT - 4, height: (box.current?.clientHeight ?? 0) - TOP - 4 };
      setSize((last) => (last.width === next.width && last.height === next.height ? last : next));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    measure(); // the first picture does not wait for a frame
    return () => observer.disconnect();
  }, []);
  return [box, size];
}

// The focus after a key; null: unchanged.
function walked(key: string, { row, step }: Cell, order: readonly number[], steps: number): Cell | null {
  const place = order.indexOf(row);
  const down = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE }[key] ?? 0;
  const across = { ArrowRight: 1, ArrowLeft: -1, End: steps, Home: -steps }[key] ?? 0;
  if (!down && !across) return null;
  return { row: order[Math.min(order.length - 1, Math.max(0, place + down))] as number, step: Math.min(steps - 1, Math.max(0, step + across)) };
}

export function JobPicture(props: Props): JSX.Element {
  const { job, measure, figures, order, groupOf, theme, describe, onOpen } = props;
  const [box, size] = useSize();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [focus, setFocus] = useState<Cell | null>(null);
  const [hover, setHover] = useState<Cell | null>(null);
  const [chosen, setWindow] = useState<Window | null>(null);
  const all = job.rows.length;
  const within = (each: Window | null): Window => (each && each.from + each.count <= all ? each : { from: 0, count: all });
  const window = within(chosen);
  useLayoutEffect(() => {
    if (!canvas.current || size.width <= 0 || size.height <= 0) return;
    paint(canvas.current, props, window, focus, size);
    canvas.current.dataset.drawn = `${measure}, ${theme}`; // for tests
    performance.mark("heddle: heat map");
    props.onPaint();
  }, [job.rows, job.steps, measure, figures, order, groupOf, theme, window.from, window.count, focus, size]);
  const share = (event: { clientY: number }): number => Math.min(1, Math.max(0, (event.clientY - (canvas.current?.getBoundingClientRect().top ?? 0) - TOP) / size.height));
  const at = (event: TargetedMouseEvent<HTMLCanvasElement>): Cell | null => {
    const area = event.currentTarget.getBoundingClientRect();
    const [columns, bands] = fieldCounts(job, window, size);
    const x = Math.floor(((event.clientX - area.left - LEFT) / size.width) * columns);
    const y = Math.floor(((event.clientY - area.top - TOP) / size.height) * bands);
    return x < 0 || y < 0 ? null : cellOf(figures, job.steps.length, order, window, columns, bands, x, y);
  };
  const zoom = (closer: boolean, pointer: number): void => setWindow((last) => zoomed(within(last), all, closer ? 1 / ZOOM : ZOOM, pointer));
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLCanvasElement>): void => {
    const cell = focus ?? { row: order[window.from] ?? 0, step: 0 };
    const next = event.ctrlKey || event.metaKey || event.altKey ? null : walked(event.key, cell, order, job.steps.length);
    setHover(null); // the text describes the cell with the keyboard focus
    if (next) {
      setFocus(next);
      setWindow(showing(window, order.indexOf(next.row)));
    } else if (event.key === "Enter" || event.key === " ") onOpen(cell);
    else if (event.key === "+" || event.key === "-") zoom(event.key === "+", 0.5);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const told = hover ?? focus;
  const text = told ? describe(told) : "Point at a cell, or walk with the arrow keys.";
  return (
    <>
      <p class="flametext" aria-live="polite"><bdi>{text}</bdi></p>
      <div class="flame" ref={box}>
        <canvas ref={canvas} tabIndex={0} role="application"
          aria-label={`Ranks by steps. Arrow keys walk, plus and minus zoom, Enter shows the step in the rank's trace. Rows ${window.from + 1} to ${window.from + window.count} of ${all}. ${text}`}
          onKeyDown={onKeyDown} onMouseMove={(event) => setHover(at(event))} onMouseLeave={() => setHover(null)}
          onWheel={(event) => {
            event.preventDefault();
            zoom(event.deltaY < 0, share(event));
          }}
          onClick={(event) => {
            const cell = at(event);
            if (!cell) return;
            setFocus(cell);
            onOpen(cell);
          }} />
      </div>
    </>
  );
}
