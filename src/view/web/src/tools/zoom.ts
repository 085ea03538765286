// The zoom tool: up and down zooms at the point that was pressed, sideways picks a range, a click zooms in.
import type { Spot } from "../tracks/at_pixel";
import { formatShort } from "../format";
import { fitRange, timeAt, zoomAt } from "./nav";
import type { Drag, ToolHandler, ToolPlace } from "./tools";

const PX_PER_E = 120; // drag that far for a factor of e

function verticalDrag(place: ToolPlace, from: Spot): Drag {
  const { app, canvas } = place;
  const before = app.state.range.value;
  app.hands.motions.stop();
  return {
    move(spot) {
      const factor = Math.exp((from.y - spot.y) / PX_PER_E);
      app.state.range.value = zoomAt(before, app.state.whole.value, canvas.clientWidth, from.time, factor);
      app.redraw();
    },
    end() {
      app.redraw();
    },
    cancel() {
      app.state.range.value = before;
      app.redraw();
    },
  };
}

function rangeDrag(place: ToolPlace, from: Spot): Drag {
  const { app, canvas, rubber } = place;
  const timeOf = (spot: Spot): number => timeAt(app.state.range.value, canvas.clientWidth, Math.max(0, Math.min(canvas.clientWidth, spot.x)));
  return {
    move(spot) {
      const left = Math.min(from.x, spot.x);
      rubber.show({ left, top: 0, width: Math.abs(spot.x - from.x), height: canvas.clientHeight },
        formatShort(Math.abs(timeOf(spot) - from.time)));
    },
    end(spot) {
      rubber.hide();
      const time = timeOf(spot);
      const target = { from: Math.min(time, from.time), until: Math.max(time, from.time) };
      if (Math.abs(spot.x - from.x) >= 4) app.hands.motions.go(fitRange(target, app.state.whole.value, canvas.clientWidth, 0));
    },
    cancel() {
      rubber.hide();
    },
  };
}

export function zoomTool(place: ToolPlace): ToolHandler {
  const { app, canvas } = place;
  return {
    cursor: "zoom-in",
    drag: (from, now) => (Math.abs(now.y - from.y) > Math.abs(now.x - from.x) ? verticalDrag(place, from) : rangeDrag(place, from)),
    click(spot, modifiers) {
      const factor = modifiers.shift || modifiers.alt ? 0.5 : 2;
      app.hands.motions.go(zoomAt(app.hands.motions.target(), app.state.whole.value, canvas.clientWidth, spot.time, factor));
    },
  };
}
