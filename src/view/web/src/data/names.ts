// Texts of name numbers: unknown ones are requested, many at a time. A text never changes; categories that were not
// final are requested again when the session's revision changes.
import { signal, type Signal } from "@preact/signals";
import type { NameInfo, TraceId } from "./model";
import type { Source } from "./source";

const BATCH = 500; // ids a request
const WAIT_MS = 15; // for more ids to come together

interface TraceNames {
  known: Map<number, NameInfo>;
  wanted: Set<number>;
  asking: boolean;
  failures: number;
  passing: Set<number>; // ids whose category is not final
}

export class Names {
  private readonly traces = new Map<TraceId, TraceNames>();
  revision = 0; // grows when texts arrive
  readonly groups: Signal<ReadonlyMap<string, string>> = signal(new Map()); // colours of the groups of names seen so far

  constructor(
    private readonly source: Pick<Source, "names">,
    private readonly onChange: () => void,
  ) {}

  // Undefined: unknown yet, and requested. 0 is not a name.
  get(trace: TraceId, id: number): NameInfo | undefined {
    const names = this.of(trace);
    const info = names.known.get(id);
    if (!info && id !== 0 && !names.wanted.has(id)) this.want(trace, names, id);
    return info;
  }

  // The display form of a name: its short form, "" while it is unknown.
  label(trace: TraceId, id: number): string {
    const info = this.get(trace, id);
    return info ? (info.short ?? info.text) : "";
  }

  // The session changed: categories that were not final are requested again, and shown unchanged until then.
  again(): void {
    for (const [trace, names] of this.traces) {
      const ids = [...names.passing];
      names.passing.clear();
      for (const id of ids) this.want(trace, names, id);
    }
  }

  // Whether all names that were looked for are here.
  idle(): boolean {
    return [...this.traces.values()].every((names) => names.wanted.size === 0);
  }

  // Another session: its numbers mean other texts.
  clear(): void {
    this.traces.clear();
    this.revision++;
  }

  private of(trace: TraceId): TraceNames {
    let names = this.traces.get(trace);
    if (!names) {
      names = { known: new Map(), wanted: new Set(), asking: false, failures: 0, passing: new Set() };
      this.traces.set(trace, names);
    }
    return names;
  }

  private want(trace: TraceId, names: TraceNames, id: number): void {
    names.wanted.add(id);
    if (names.asking) return;
    names.asking = true;
    setTimeout(() => void this.ask(trace, names), WAIT_MS);
  }

  private async ask(trace: TraceId, names: TraceNames): Promise<void> {
    const ids = [...names.wanted].slice(0, BATCH).sort((a, b) => a - b);
    try {
      const answer = await this.source.names(trace, ids);
      for (const info of answer.names) names.known.set(info.id, info);
      const groups = answer.names.filter(({ group, colour }) => group && colour && !this.groups.peek().has(group));
      if (groups.length > 0) this.groups.value = new Map([...this.groups.peek(), ...groups.map(({ group = "", colour = "" }) => [group, colour] as const)]);
      for (const id of ids) {
        if (!answer.final) names.passing.add(id);
        names.wanted.delete(id);
        if (!names.known.has(id)) names.known.set(id, { id, text: "", category: "", role: "" });
      }
      names.failures = 0;
      this.revision++;
      if (this.traces.get(trace) === names) this.onChange();
    } catch {
      names.failures++; // tiles.ts reports the server's failure; here it is retried
    }
    if (names.wanted.size === 0) names.asking = false;
    else setTimeout(() => void this.ask(trace, names), names.failures ? Math.min(8000, 250 << names.failures) : 0);
  }
}
