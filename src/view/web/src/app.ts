// What every part of the page gets: the data, the state, the commands, and the two things that are worked out of them.
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
  names: Names; // texts of name numbers, asked for as needed (names.ts)
  tiles: TileCache; // tiles.ts
  layout(): Layout; // where each track stands, as of now (layout.ts)
  redraw(): void; // draw at the next frame
  // The tests' way in: window.heddle = { app, drawList(): … }.
}

export interface App extends Core {
  hands: Hands; // how the view is moved and events are selected (hands.ts)
}
