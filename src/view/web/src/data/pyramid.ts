// The loaded tiles of one track, by zoom and index, with fast lookups: there are many per frame, mostly for missing
// tiles.

export class Pyramid<T> {
  size = 0;
  zooms: readonly number[] = []; // those that have any, ascending
  private readonly levels: (Map<number, T> | undefined)[] = [];

  get(z: number, i: number): T | undefined {
    return this.levels[z]?.get(i);
  }

  set(z: number, i: number, value: T): void {
    let level = this.levels[z];
    if (!level) {
      level = this.levels[z] = new Map();
      this.zooms = [...this.zooms, z].sort((a, b) => a - b);
    }
    const before = level.size;
    level.set(i, value);
    this.size += level.size - before;
  }

  delete(z: number, i: number): void {
    const level = this.levels[z];
    if (!level?.delete(i)) return;
    this.size--;
    if (level.size > 0) return;
    this.levels[z] = undefined;
    this.zooms = this.zooms.filter((zoom) => zoom !== z);
  }

  each(visit: (value: T, z: number, i: number) => void): void {
    for (const z of this.zooms) this.levels[z]?.forEach((value, i) => visit(value, z, i));
  }
}
