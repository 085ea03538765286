// Flame graphs of several traces as one: below the root a frame for each trace, below that its own. Pure.
import type { FlameResult } from "../data/model";

export function mergeFlames(parts: readonly { name: string; result: FlameResult }[]): FlameResult {
  const first = parts[0]?.result;
  const merged: FlameResult = {
    of: first?.of ?? "", unit: first?.unit ?? "", total: 0, no_stack: 0, nodes: [[-1, 0, 0, 0, ""]], small: [], names: [""], left_out: 0,
  };
  for (const { name, result } of parts) {
    if (result.unit !== merged.unit || result.of !== merged.of) {
      throw new Error("The traces do not have the same to show: choose what widths are.");
    }
    const names = merged.names.length;
    merged.names.push(name, ...result.names);
    const base = merged.nodes.length;
    if (result.nodes.length === 0) merged.nodes.push([0, names, 0, 0, "rank"]);
    result.nodes.forEach(([parent, text, self, total, kind], at) => {
      merged.nodes.push(at === 0 ? [0, names, self, total, "rank"] : [base + parent, names + 1 + text, self, total, kind]);
    });
    for (const [node, text, self, total] of result.small) merged.small.push([base + node, names + 1 + text, self, total]);
    merged.total += result.total;
    merged.no_stack += result.no_stack;
    merged.left_out += result.left_out;
  }
  merged.nodes[0] = [-1, 0, 0, merged.total, ""];
  return merged;
}
