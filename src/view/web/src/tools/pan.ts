// The pan tool, Space and the middle button: the pressed point stays under the pointer.
import { panBy } from "./nav";
import { clickSelects } from "./select";
import type { Drag, ToolHandler, ToolPlace } from "./tools";

export function panDrag(place: ToolPlace, x: number, y: number): Drag {
  const { app, canvas } = place;
  app.hands.motions.stop();
  let lastX = x;
  let lastY = y;
  const before = { range: app.state.range.value, scroll: app.state.scroll.value };
  return {
    move(spot) {
      const width = canvas.clientWidth;
      app.state.range.value = panBy(app.state.range.value, app.state.whole.value, width, (lastX - spot.x) / Math.max(width, 1));
      app.hands.motions.scrollBy(lastY - spot.y);
      lastX = spot.x;
      lastY = spot.y;
    },
    end() {
      app.redraw();
    },
    cancel() {
      app.state.range.value = before.range;
      app.state.scroll.value = before.scroll;
      app.redraw();
    },
  };
}

export function panTool(place: ToolPlace): ToolHandler {
  return {
    cursor: "grab",
    drag: (from) => panDrag(place, from.x, from.y),
    click: (spot, modifiers) => clickSelects(place, spot, modifiers),
  };
}
