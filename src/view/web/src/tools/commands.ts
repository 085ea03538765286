// All commands of the web UI, in one table, which keys, the palette, the help and the toolbar use.

export type CommandGroup = "Move" | "Tools" | "Select" | "Tracks" | "Flows" | "Search" | "Marks" | "View";

export interface Command {
  id: string; // "zoom-in"
  title: string; // "Zoom in at the pointer"
  group: CommandGroup;
  keys?: string[]; // as keyOf() spells them: "w", "Shift+W", "Ctrl+k", "ArrowLeft", "?"
  held?: boolean; // goes on while the key is down
  run(event?: KeyboardEvent): void;
  enabled?(): boolean;
}

export class Commands {
  private readonly byId = new Map<string, Command>();
  private readonly byKey = new Map<string, Command>();

  // Two commands with equal ids or keys throw, so that a test finds it.
  add(...commands: Command[]): void {
    for (const command of commands) {
      if (this.byId.has(command.id)) throw new Error(`command ${command.id} is there twice`);
      this.byId.set(command.id, command);
      for (const key of command.keys ?? []) {
        const other = this.byKey.get(key);
        if (other) throw new Error(`key ${key} is of ${other.id} and of ${command.id}`);
        this.byKey.set(key, command);
      }
    }
  }

  all(): Command[] {
    return [...this.byId.values()];
  }

  find(id: string): Command | undefined {
    return this.byId.get(id);
  }

  ofKey(key: string): Command | undefined {
    return this.byKey.get(key);
  }

  run(id: string): void {
    const command = this.byId.get(id);
    if (command && (command.enabled?.() ?? true)) command.run();
  }
}
