// Sequential steps, such as three clicks that each add an event: done in order, however long the server takes for one,
// and none is lost. A step that starts over drops those still waiting.
export class Turns {
  private number = 0;
  private last: Promise<void> = Promise.resolve();
  private waiting = 0;

  begin(): void {
    this.number++;
    this.last = Promise.resolve();
  }

  // `isCurrent` becomes false when another sequence began. A held key repeats: the next step runs when the previous one
  // was answered.
  add(step: (isCurrent: () => boolean) => Promise<void>, key?: { repeat: boolean }): Promise<void> {
    if (key?.repeat && this.waiting > 0) return this.last;
    const mine = this.number;
    const isCurrent = (): boolean => mine === this.number;
    this.waiting++;
    const done = this.last.then(() => (isCurrent() ? step(isCurrent) : undefined)).finally(() => {
      this.waiting--;
    });
    this.last = done.catch(() => undefined); // the caller gets the error; the next step runs anyway
    return done;
  }
}
