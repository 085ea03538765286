// Steps that go on from one another, as each of three clicks adds an event: they are done in the order in which they came,
// however long the server takes for one, and none is lost. What begins anew drops those that still wait.
export class Turns {
  private number = 0;
  private last: Promise<void> = Promise.resolve();
  private waiting = 0;

  begin(): void {
    this.number++;
    this.last = Promise.resolve();
  }

  // `isCurrent` is false from when something else began. A key that is held down asks again and again: it goes on when it
  // was answered.
  add(step: (isCurrent: () => boolean) => Promise<void>, key?: { repeat: boolean }): Promise<void> {
    if (key?.repeat && this.waiting > 0) return this.last;
    const mine = this.number;
    const isCurrent = (): boolean => mine === this.number;
    this.waiting++;
    const done = this.last.then(() => (isCurrent() ? step(isCurrent) : undefined)).finally(() => {
      this.waiting--;
    });
    this.last = done.catch(() => undefined); // whoever asked is told; the next has its turn all the same
    return done;
  }
}
