// A flame graph's tree, and the positions of its boxes. Pure: answers of the server in, boxes and tables out.
import type { FlameResult } from "../data/model";

export interface FlameNode {
  index: number; // -1: the root, which represents everything
  name: string;
  kind: string;
  self: number;
  total: number;
  parent: FlameNode | null;
  children: FlameNode[]; // largest first
  small: { name: string; self: number; total: number }[]; // what is below it in frames too small to be drawn, by name
  depth: number; // of the root: 0
}

export interface FlameBox {
  node: FlameNode;
  x: number; // shares of the width
  width: number;
  depth: number; // row from the top
}

export interface FlameRow {
  name: string;
  self: number;
  total: number; // counted once for nested nodes of one name
  count: number; // nodes that are drawn
}

// The server's first node is the root; if there is none, one is made.
export function flameTree(result: FlameResult): FlameNode {
  const root: FlameNode = { index: -1, name: "all", kind: "", self: 0, total: result.total, parent: null, children: [], small: [], depth: 0 };
  const nodes: FlameNode[] = [];
  result.nodes.forEach(([parent, name, self, total, kind], index) => {
    if (index === 0 && parent < 0 && !result.names[name] && total === result.total) {
      nodes.push(root);
      return;
    }
    const above = (parent < index ? nodes[parent] : undefined) ?? root; // parents come first
    const node: FlameNode = {
      index, name: result.names[name] ?? "", kind, self, total, parent: above, children: [], small: [], depth: above.depth + 1,
    };
    above.children.push(node);
    nodes.push(node);
  });
  for (const [node, name, self, total] of result.small) (nodes[node] ?? root).small.push({ name: result.names[name] ?? "", self, total });
  for (const node of new Set([root, ...nodes])) node.children.sort((a, b) => b.total - a.total || a.index - b.index);
  root.self = Math.max(0, result.total - root.children.reduce((sum, each) => sum + each.total, 0));
  return root;
}

// From the root down to the node.
export function flamePath(node: FlameNode): FlameNode[] {
  const path: FlameNode[] = [];
  for (let at: FlameNode | null = node; at; at = at.parent) path.unshift(at);
  return path;
}

// The boxes with `zoomed` at full width: its ancestors over the whole width, its descendants by their share. Boxes
// narrower than `least` (a share) are left out with everything below them.
export function flameBoxes(zoomed: FlameNode, least: number): FlameBox[] {
  const boxes: FlameBox[] = flamePath(zoomed).map((node) => ({ node, x: 0, width: 1, depth: node.depth }));
  const open: FlameBox[] = [boxes[boxes.length - 1] as FlameBox];
  for (let box = open.pop(); box; box = open.pop()) {
    const total = Math.max(box.node.total, box.node.children.reduce((sum, each) => sum + each.total, 0));
    let x = box.x;
    for (const child of box.node.children) {
      const width = total > 0 ? (box.width * child.total) / total : 0;
      if (width >= least && width > 0) {
        const next = { node: child, x, width, depth: child.depth };
        boxes.push(next);
        open.push(next);
      }
      x += width;
    }
  }
  return boxes;
}

export function flameHeight(boxes: readonly FlameBox[]): number {
  return boxes.reduce((most, box) => Math.max(most, box.depth + 1), 0);
}

export function flameAt(boxes: readonly FlameBox[], x: number, depth: number): FlameNode | null {
  const found = boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.width);
  return found ? found.node : null;
}

// Sums by name of all that is below the node, and it. A name below itself counts once in `total`.
export function flameTable(top: FlameNode): FlameRow[] {
  const rows = new Map<string, FlameRow>();
  const above = new Map<string, number>(); // how often a name is on the path
  const work: [FlameNode, boolean][] = [[top, true]];
  for (let step = work.pop(); step; step = work.pop()) {
    const [node, entering] = step;
    const times = above.get(node.name) ?? 0;
    if (!entering) {
      above.set(node.name, times - 1);
      continue;
    }
    if (node.index >= 0) {
      const row = rows.get(node.name) ?? { name: node.name, self: 0, total: 0, count: 0 };
      row.self += node.self;
      row.count++;
      if (!times) row.total += node.total;
      rows.set(node.name, row);
      above.set(node.name, times + 1);
      work.push([node, false]);
    }
    for (const { name, self, total } of node.small) {
      const row = rows.get(name) ?? { name, self: 0, total: 0, count: 0 };
      row.self += self;
      if (!above.get(name)) row.total += total;
      rows.set(name, row);
    }
    for (const child of node.children) work.push([child, true]);
  }
  return [...rows.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

// Share of the picture's total below matching nodes, each ns once. The nesting of small frames is unknown: this is a
// lower bound.
export function flameMatched(root: FlameNode, matches: (name: string) => boolean): number {
  let sum = 0;
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    if (node.index >= 0 && matches(node.name)) sum += node.total;
    else {
      open.push(...node.children);
      const found = node.small.filter((each) => matches(each.name));
      sum += Math.max(found.reduce((all, each) => all + each.self, 0), ...found.map((each) => each.total), 0);
    }
  }
  return sum;
}

// The neighbour that an arrow key leads to.
export function flameStep(node: FlameNode, key: string): FlameNode | null {
  const siblings = node.parent?.children ?? [node];
  const at = siblings.indexOf(node);
  switch (key) {
    case "ArrowUp": return node.parent;
    case "ArrowDown": return node.children[0] ?? null;
    case "ArrowLeft": return siblings[at - 1] ?? null;
    case "ArrowRight": return siblings[at + 1] ?? null;
    default: return null;
  }
}
