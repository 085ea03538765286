// All names that a search found. Pure.
import type { SearchResult } from "./model";

const MOST = 1 << 24; // numbers above that are left out: the server has none

export function namesFound(result: Pick<SearchResult, "names" | "name_ranges">): Set<number> {
  const found = new Set(result.names);
  for (const part of result.name_ranges?.split(",") ?? []) {
    const [from, until = from] = part.split("-").map(Number);
    for (let id = from; id <= until && id < MOST; id++) found.add(id);
  }
  return found;
}
