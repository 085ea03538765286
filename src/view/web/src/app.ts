// The context of every part of the web UI: the data, the state, the commands, and two values derived from them.
import type { Commands } from "./tools/commands";
import type { Hands } from "./tools/hands";
import type { Layout } from "./tracks/layout";
import type { Source } from "./data/source";
import type { State } from "./state";
import type { Names } from "./data/names";
import type { TileCache } from "./data/tiles";

export interface Core {
  source: Source;
  state: State;
  commands: Commands;
  names: Names; // texts of name numbers, requested as needed (names.ts)
  tiles: TileCache; // tiles.ts
  layout(): Layout; // current position of each track (layout.ts)
  redraw(): void; // draw at the next frame
  // The tests' way in: window.heddle = { app, drawList(): … }.
}

export interface App extends Core {
  hands: Hands; // how the view is moved and events are selected (hands.ts)
}
