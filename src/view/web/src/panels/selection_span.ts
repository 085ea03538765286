// Notes about traces that do not cover the whole selection. Pure.
import { formatDuration } from "../format";
import type { SelectResult } from "../data/model";

// With several ranks each is evaluated only where its trace has data: the rest is not idle.
export function coveredNote(result: Pick<SelectResult, "from" | "until" | "span">, from: number, until: number): string {
  if (result.from <= from && result.until >= until) return "";
  return `of ${formatDuration(until - from)} selected; the trace reaches no further`;
}
