// What is said where a trace does not reach over all that is selected. Pure.
import { formatDuration } from "../format";
import type { SelectResult } from "../data/model";

// Of several ranks each is looked at as far as it reaches: what lies outside of it is not idle.
export function coveredNote(result: Pick<SelectResult, "from" | "until" | "span">, from: number, until: number): string {
  if (result.from <= from && result.until >= until) return "";
  return `of ${formatDuration(until - from)} selected; the trace reaches no further`;
}
