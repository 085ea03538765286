// The timing tool: measures between two edges of events. Edges of loaded events are known at once; in aggregates the
// server is queried, and its answer moves the edge.
import { hitAt, offsetOf, snapLoaded, type Spot } from "../tracks/at_pixel";
import { formatDuration } from "../format";
import { xAt } from "./nav";
import { rangeOf, say } from "./select_actions";
import type { Drag, ToolHandler, ToolPlace } from "./tools";

const WITHIN_PX = 8;
const WAIT_MS = 60; // time that the pointer must rest before the server is queried

// Follows the edge nearest to the pointer.
class Snapper {
  private timer = 0;
  private question = 0;
  private latest: { spot: Spot; found: (time: number) => void } | null = null;

  constructor(private readonly place: ToolPlace) {}

  // The edge as far as it is known here, else the time under the pointer; `found` is called if the server has a better
  // one.
  at(spot: Spot, found: (time: number) => void): { time: number; snapped: boolean } {
    const { app, canvas } = this.place;
    const { edge, server } = snapLoaded(app, spot, canvas.clientWidth, WITHIN_PX);
    this.question++;
    window.clearTimeout(this.timer);
    this.latest = null;
    if (server) {
      this.latest = { spot, found };
      this.timer = window.setTimeout(() => void this.ask(), WAIT_MS);
    }
    return edge ? { time: edge.time, snapped: true } : { time: Math.round(spot.time), snapped: false };
  }

  // Sends the pending request now.
  async settle(): Promise<void> {
    window.clearTimeout(this.timer);
    await this.ask();
  }

  drop(): void {
    this.question++;
    this.latest = null;
    window.clearTimeout(this.timer);
  }

  private async ask(): Promise<void> {
    const asked = this.latest;
    const track = asked?.spot.place?.track;
    this.latest = null;
    if (!asked || !track) return;
    const { app } = this.place;
    const mine = this.question;
    const offset = offsetOf(app, track.trace);
    const within = Math.max(1, Math.ceil(app.hands.nsPerPx() * WITHIN_PX));
    try {
      const answer = await app.source.snap(track.trace, Math.round(asked.spot.time - offset), within, [track.id]);
      if (answer && mine === this.question) asked.found(answer.time + offset);
    } catch (error) {
      if (mine === this.question) say(app, error instanceof Error ? error.message : String(error), true);
    }
  }
}

function ordered(a: number, b: number): { from: number; until: number } {
  return { from: Math.min(a, b), until: Math.max(a, b) };
}

function timingDrag(place: ToolPlace, from: Spot): Drag {
  const { app, rubber } = place;
  const { state } = app;
  const starts = new Snapper(place);
  const ends = new Snapper(place);
  const before = state.timing.value;
  let end = from.time;
  let over = false;
  const show = (): void => {
    if (over) return;
    state.timing.value = ordered(start, end);
    app.redraw();
  };
  let start = from.time;
  start = starts.at(from, (time) => {
    start = time;
    show();
  }).time;
  void starts.settle();
  const track = (spot: Spot): void => {
    const found = ends.at(spot, (time) => {
      end = time;
      show();
    });
    end = found.time;
    if (found.snapped) showLine(place, spot, end);
    else rubber.hideLine();
    show();
  };
  return {
    move: track,
    end(spot) {
      track(spot);
      rubber.hide();
      void Promise.all([starts.settle(), ends.settle()]).then(() => {
        if (!over) say(app, `${formatDuration(Math.abs(end - start))} between the edges. M keeps it as a mark.`);
      });
    },
    cancel() {
      over = true;
      starts.drop();
      ends.drop();
      rubber.hide();
      state.timing.value = before;
      app.redraw();
    },
  };
}

function showLine(place: ToolPlace, spot: Spot, time: number): void {
  const { app, canvas, rubber } = place;
  const x = xAt(app.state.range.value, canvas.clientWidth, time);
  rubber.showLine(x, Math.max(0, spot.y - 60), 120);
}

export function timeTool(place: ToolPlace): ToolHandler {
  const { app, canvas, rubber } = place;
  return {
    cursor: "crosshair",
    drag: (from) => timingDrag(place, from),
    // A click on an event measures it.
    click(spot) {
      const hit = hitAt(app, spot, canvas.clientWidth);
      if (hit?.exact) {
        app.state.timing.value = rangeOf(app, hit.event);
        say(app, `${formatDuration(hit.event.duration)}. M keeps it as a mark.`);
      } else {
        app.state.timing.value = null;
      }
      app.redraw();
    },
    hover(spot) {
      const edge = spot ? snapLoaded(app, spot, canvas.clientWidth, WITHIN_PX).edge : null;
      if (spot && edge) showLine(place, spot, edge.time);
      else rubber.hideLine();
    },
  };
}
