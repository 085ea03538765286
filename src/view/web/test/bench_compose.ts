// Measures our own time per frame without a browser: composes rows of a synthetic trace while zooming.
import { Composer, wantsOf, type Scene } from "../src/draw/compose";
import { themeOf } from "../src/draw/color";
import { DrawList } from "../src/draw/list";
import { Tones } from "../src/draw/tones";
import { makeLayout } from "../src/tracks/layout";
import { Names } from "../src/data/names";
import { TileCache } from "../src/data/tiles";
import { decodeTiles } from "../src/data/tile_decode";
import { demoTrace } from "./fake_trace";

// `clock` in ms: CPU time, if the machine is busy otherwise.
export async function bench(rowsOfEach: number, events: number, frames: number, clock: () => number): Promise<string> {
  const trace = demoTrace(rowsOfEach, events);
  const names = new Names({ names: async (_t, ids) => ({ final: true, names: ids.map((id) => ({ id, text: trace.names[id] ?? "", category: "kernel", role: "kernel" })) }) }, () => {});
  const tiles = new TileCache({
    tiles: async (_t, z, i, ids, summary) => {
      const bytes = trace.tiles(z, i, ids, summary);
      return decodeTiles(bytes.buffer as ArrayBuffer, z, i);
    },
  }, () => {});
  const list = new DrawList();
  const composer = new Composer(list);
  const theme = themeOf(false);
  const layout = makeLayout(trace.tracks.map((t) => t.info), { collapsed: new Map(), hidden: new Set(), pinned: [], moved: new Map(), trackFilter: "" });
  const tones = new Tones(0, names, theme, "name", new Map(), null, "none");
  const times: number[] = [];
  let span = trace.span();
  const middle = span * 0.37;
  let bars = 0;
  for (let k = 0; k < frames; k++) {
    const scene: Scene = { layout, range: { from: middle - span / 2, until: middle + span / 2 }, scroll: 0, theme, tiles, offset: () => 0, tones: () => tones };
    const before = clock();
    list.clear(1600, 2000, 1);
    const seen = composer.tracks(scene);
    const wants = wantsOf(seen, scene, 1600).filter((want) => !want.ahead);
    tiles.want(wants);
    times.push(clock() - before);
    bars = Math.max(bars, list.bars.count);
    for (let wait = 0; wait < 200 && !tiles.idle(); wait++) await new Promise((r) => setTimeout(r, 0));
    span *= k < frames * 0.7 ? 0.9 : 1 / 0.9;
  }
  times.splice(0, 3);
  times.sort((a, b) => a - b);
  return `rows ${list.rows}, bars at most ${bars}, p50 ${times[times.length >> 1].toFixed(2)} ms, p95 ${times[Math.floor(times.length * 0.95)].toFixed(2)} ms`;
}
