// Marks: named ranges that stay until they are removed. Pure: lists in, lists out.
import type { Mark, Range } from "./state";

export const MOST_MARKS = 500;
export const LONGEST_NAME = 200;

// Names are one line, not too long and not empty.
export function markName(text: string, otherwise: string): string {
  // Control and bidi characters would garble the lists that show the name.
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
  return Array.from(clean).slice(0, LONGEST_NAME).join("") || otherwise;
}

function nextMarkId(marks: readonly Mark[]): number {
  return marks.reduce((most, mark) => Math.max(most, mark.id), 0) + 1;
}

// A range that is marked already is not marked twice; where there are too many marks nothing is added.
export function addMark(marks: readonly Mark[], range: Range, name = ""): { marks: Mark[]; mark: Mark | null } {
  const from = Math.min(range.from, range.until);
  const until = Math.max(range.from, range.until);
  const same = marks.find((mark) => mark.from === from && mark.until === until);
  if (same) return { marks: [...marks], mark: same };
  if (marks.length >= MOST_MARKS) return { marks: [...marks], mark: null };
  const id = nextMarkId(marks);
  const mark = { id, name: markName(name, `Mark ${id}`), from, until };
  return { marks: [...marks, mark], mark };
}

export function renameMark(marks: readonly Mark[], id: number, name: string): Mark[] {
  return marks.map((mark) => (mark.id === id ? { ...mark, name: markName(name, mark.name) } : mark));
}

export function removeMark(marks: readonly Mark[], id: number): Mark[] {
  return marks.filter((mark) => mark.id !== id);
}

// The mark that starts behind (or, backward, before) the middle of the view, in order of time and around the end.
export function neighbourMark(marks: readonly Mark[], time: number, forward: boolean): Mark | null {
  const sorted = [...marks].sort((a, b) => middle(a) - middle(b) || a.id - b.id);
  // The current position is the middle of the view, up to rounding.
  const slack = (mark: Mark): number => Math.max((mark.until - mark.from) * 1e-6, 1);
  if (forward) return sorted.find((mark) => middle(mark) > time + slack(mark)) ?? sorted[0] ?? null;
  return sorted.reverse().find((mark) => middle(mark) < time - slack(mark)) ?? sorted[0] ?? null;
}

const middle = (mark: Range): number => (mark.from + mark.until) / 2;
