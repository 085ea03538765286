// Pointer, wheel and touch on the tracks: passes events to the tool, pan or pinch.
import { effect } from "@preact/signals";
import type { App } from "../app";
import { spotAt, type Spot } from "../tracks/at_pixel";
import { attachHover } from "../tracks/hover";
import { attachKeyboard } from "./keyboard";
import { panBy, pinched, timeAt, wheelPx, wheelZoom, zoomAt } from "./nav";
import { Rubber } from "./rubber";
import { panDrag } from "./pan";
import { doubleClick } from "./select";
import { makeTools, type Drag, type Modifiers, type ToolHandler, type ToolPlace } from "./tools";

const DRAG_PX = 4; // a press that moved less is a click

interface Press {
  id: number; // pointer
  from: Spot;
  drag: Drag | null;
  pans: boolean; // whatever the tool
  modifiers: Modifiers;
}

const modifiersOf = (event: MouseEvent): Modifiers =>
  ({ ctrl: event.ctrlKey || event.metaKey, shift: event.shiftKey, alt: event.altKey });

class Pointers {
  private press: Press | null = null;
  private readonly touches = new Map<number, { x: number; y: number }>();
  private pinch: { a: number; b: number } | null = null;
  private readonly tools: Record<string, ToolHandler>;
  private readonly hover: (spot: Spot | null) => void;

  constructor(private readonly place: ToolPlace) {
    this.tools = makeTools(place);
    this.hover = attachHover(place);
  }

  private get app(): App {
    return this.place.app;
  }

  private tool(): ToolHandler {
    return this.tools[this.app.state.tool.value] as ToolHandler;
  }

  private spot(event: { clientX: number; clientY: number }): Spot {
    const box = this.place.canvas.getBoundingClientRect();
    return spotAt(this.app, this.place.canvas, event.clientX - box.left, event.clientY - box.top);
  }

  down(event: PointerEvent): void {
    if (event.pointerType === "touch") {
      const { x, y } = this.spot(event);
      this.touches.set(event.pointerId, { x, y });
      if (this.touches.size === 2) {
        this.cancel();
        const [a, b] = [...this.touches.keys()] as [number, number];
        this.pinch = { a, b };
        this.hover(null);
        this.app.hands.motions.stop();
      }
      if (this.touches.size > 1) {
        this.capture(event.pointerId);
        return;
      }
    }
    if (this.press?.id === event.pointerId) this.cancel(); // its end was not reported
    if (this.press || event.button > 1) return;
    // A click on the tracks gives them the keyboard focus.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    if (event.button === 1) event.preventDefault(); // no auto-scroll
    const pans = event.button === 1 || this.app.hands.panHeld.value;
    this.press = { id: event.pointerId, from: this.spot(event), drag: null, pans, modifiers: modifiersOf(event) };
    this.capture(event.pointerId);
  }

  private capture(id: number): void {
    try {
      this.place.canvas.setPointerCapture(id);
    } catch {
      // The pointer is gone already: its end came before we got to it.
    }
  }

  move(event: PointerEvent): void {
    const spot = this.spot(event);
    if (this.touches.has(event.pointerId) && this.pinch) {
      this.movePinch(event.pointerId, spot);
      return;
    }
    this.app.state.pointer.value = { x: spot.x, y: spot.y, time: spot.time };
    if (this.press?.id === event.pointerId && event.buttons === 0) this.cancel(); // its end was not reported
    const press = this.press;
    if (!press || press.id !== event.pointerId) {
      if (!press) {
        this.hover(spot);
        this.tool().hover?.(spot);
      }
      return;
    }
    if (!press.drag) {
      if (Math.hypot(spot.x - press.from.x, spot.y - press.from.y) < DRAG_PX) return;
      this.hover(null);
      this.tool().hover?.(null);
      press.drag = press.pans ? panDrag(this.place, press.from.x, press.from.y) : this.tool().drag(press.from, spot, press.modifiers);
      this.cursor();
    }
    press.drag.move(spot);
  }

  private movePinch(id: number, spot: Spot): void {
    const { state, hands } = this.app;
    const pinch = this.pinch;
    const old = this.touches.get(id);
    if (!pinch || !old) return;
    const a = this.touches.get(pinch.a);
    const b = this.touches.get(pinch.b);
    this.touches.set(id, { x: spot.x, y: spot.y });
    if (!a || !b || (id !== pinch.a && id !== pinch.b)) return;
    const before: [number, number] = [a.x, b.x];
    const now: [number, number] = [id === pinch.a ? spot.x : a.x, id === pinch.b ? spot.x : b.x];
    state.range.value = pinched(state.range.value, state.whole.value, this.place.canvas.clientWidth, before, now);
    hands.motions.scrollBy((old.y - spot.y) / 2);
    this.app.redraw();
  }

  up(event: PointerEvent): void {
    this.touches.delete(event.pointerId);
    if (this.pinch) {
      if (this.touches.size < 2) this.pinch = null;
      return;
    }
    const press = this.press;
    if (!press || press.id !== event.pointerId) return;
    this.press = null;
    const spot = this.spot(event);
    if (press.drag) press.drag.end(spot);
    else if (!press.pans) this.tool().click(press.from, modifiersOf(event));
    this.cursor();
    if (event.pointerType === "touch") this.leave();
  }

  // Cancels the gesture, without effect.
  cancel(): void {
    this.press?.drag?.cancel();
    this.press = null;
    this.cursor();
  }

  dragging(): boolean {
    return this.press?.drag != null;
  }

  lost(event: PointerEvent): void {
    this.touches.delete(event.pointerId);
    if (this.touches.size < 2) this.pinch = null;
    if (this.press?.id === event.pointerId) this.cancel();
  }

  // A busy browser releases the capture of a press, since it processes the end of the previous one late: the gesture
  // continues.
  uncaptured(event: PointerEvent): void {
    if (event.pointerType === "touch") this.lost(event);
    else if (this.press?.id === event.pointerId) this.capture(event.pointerId);
  }

  leave(): void {
    if (this.press) return;
    this.app.state.pointer.value = null;
    this.hover(null);
    this.tool().hover?.(null);
  }

  double(event: MouseEvent): void {
    if (this.app.state.tool.value === "zoom") return;
    doubleClick(this.app, this.place.canvas, this.spot(event));
  }

  cursor(): void {
    const pans = this.press ? this.press.pans : this.app.hands.panHeld.value;
    const shown = pans ? "grab" : this.tool().cursor;
    this.place.canvas.style.cursor = this.press?.drag && shown === "grab" ? "grabbing" : shown;
  }
}

function onWheel(app: App, canvas: HTMLElement, event: WheelEvent): void {
  event.preventDefault();
  const { state, hands } = app;
  const width = canvas.clientWidth;
  const deltaY = wheelPx(event.deltaY, event.deltaMode, canvas.clientHeight);
  const deltaX = wheelPx(event.deltaX, event.deltaMode, width);
  hands.motions.stop();
  if (event.ctrlKey || event.metaKey) {
    const time = timeAt(state.range.value, width, event.clientX - canvas.getBoundingClientRect().left);
    state.range.value = zoomAt(state.range.value, state.whole.value, width, time, wheelZoom(deltaY));
  } else if (event.shiftKey) {
    // Some browsers turn the wheel of themselves with Shift.
    state.range.value = panBy(state.range.value, state.whole.value, width, (deltaX !== 0 ? deltaX : deltaY) / Math.max(width, 1));
  } else {
    if (deltaX !== 0) state.range.value = panBy(state.range.value, state.whole.value, width, deltaX / Math.max(width, 1));
    if (deltaY !== 0) hands.motions.scrollBy(deltaY);
  }
  app.redraw();
}

export function attachInput(canvas: HTMLCanvasElement, app: App): void {
  const rubber = new Rubber(canvas.parentElement ?? document.body);
  const pointers = new Pointers({ app, canvas, rubber });
  canvas.addEventListener("pointerdown", (event) => pointers.down(event));
  canvas.addEventListener("pointermove", (event) => pointers.move(event));
  canvas.addEventListener("pointerup", (event) => pointers.up(event));
  canvas.addEventListener("pointercancel", (event) => pointers.lost(event));
  canvas.addEventListener("lostpointercapture", (event) => pointers.uncaptured(event));
  canvas.addEventListener("pointerleave", () => pointers.leave());
  canvas.addEventListener("dblclick", (event) => pointers.double(event));
  canvas.addEventListener("auxclick", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => onWheel(app, canvas, event), { passive: false });
  // Escape during a drag cancels it, before the command of that key runs.
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !pointers.dragging()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    pointers.cancel();
  }, { capture: true });
  effect(() => {
    void app.state.tool.value;
    void app.hands.panHeld.value;
    rubber.hide();
    pointers.cursor();
  });
  attachKeyboard(app);
}
