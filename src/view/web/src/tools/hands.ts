// Shared by gestures, keys and commands: the motion of the view, the actions on the selection, and whether the pointer
// currently pans.
import { signal, type Signal } from "@preact/signals";
import type { Core } from "../app";
import { Motions } from "./motion";
import { spanOf } from "./nav";
import { SelectActions } from "./select_actions";

interface Size {
  width: number;
  height: number;
}

export class Hands {
  readonly motions: Motions;
  readonly actions: SelectActions;
  readonly panHeld: Signal<boolean> = signal(false); // Space is down
  readonly focusTrack: Signal<string | null> = signal(null); // the track that keys walk on (a11y.ts)

  constructor(core: Core, readonly size: () => Size) {
    this.motions = new Motions(core, size);
    this.actions = new SelectActions(core, this.motions, () => this.size().width);
    this.nsPerPx = () => spanOf(core.state.range.value) / Math.max(1, this.size().width);
  }

  readonly nsPerPx: () => number;
}
