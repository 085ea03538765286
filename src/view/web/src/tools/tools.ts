// The four tools: actions of press, drag and click on the tracks.
import type { App } from "../app";
import type { Spot } from "../tracks/at_pixel";
import type { Rubber } from "./rubber";
import type { Tool } from "../state";
import { panTool } from "./pan";
import { selectTool } from "./select";
import { timeTool } from "./time";
import { zoomTool } from "./zoom";

export interface Modifiers {
  ctrl: boolean; // or ⌘
  shift: boolean;
  alt: boolean;
}

// From the moment that a press becomes a drag until the button is released.
export interface Drag {
  move(spot: Spot): void;
  end(spot: Spot): void;
  cancel(): void;
}

export interface ToolHandler {
  cursor: string;
  drag(from: Spot, now: Spot, modifiers: Modifiers): Drag;
  click(spot: Spot, modifiers: Modifiers): void;
  hover?(spot: Spot | null): void; // no button is down; null: the pointer left
}

export interface ToolPlace {
  app: App;
  canvas: HTMLElement;
  rubber: Rubber;
}

export function makeTools(place: ToolPlace): Record<Tool, ToolHandler> {
  return { select: selectTool(place), pan: panTool(place), zoom: zoomTool(place), time: timeTool(place) };
}
