// Help: every command with its keys, from the table of commands, and the actions of the pointer.
import type { JSX } from "preact";
import type { App } from "../app";
import type { Command, CommandGroup } from "../tools/commands";
import { shownKey } from "../tools/keyboard";

const GROUPS: CommandGroup[] = ["Move", "Tools", "Select", "Flows", "Marks", "Tracks", "Search", "View"];

const GESTURES: [string, string][] = [
  ["Wheel", "Scroll the tracks"],
  ["Ctrl or ⌘ + wheel, pinch", "Zoom at the pointer"],
  ["Shift + wheel, wheel sideways", "Move in time"],
  ["Drag", "As the tool has it: box, pan, zoom, measure"],
  ["Middle button or Space + drag", "Pan, whatever the tool is"],
  ["Two fingers", "Pan and zoom"],
  ["Click", "Select an event; of a block of many the longest"],
  ["Ctrl or Shift + click", "Add to the selection, or take away from it"],
  ["Double click", "Fit the event; open or collapse a section"],
  ["Shift or Alt + click with the zoom tool", "Zoom out"],
  ["Esc while dragging", "Give the drag up"],
];

// Groups with their commands, those without a key last.
function helpGroups(commands: readonly Command[]): { group: CommandGroup; commands: Command[] }[] {
  return GROUPS.map((group) => {
    const own = commands.filter((command) => command.group === group);
    const withKey = own.filter((command) => (command.keys ?? []).length > 0);
    return { group, commands: [...withKey, ...own.filter((command) => !withKey.includes(command))] };
  }).filter(({ commands: own }) => own.length > 0);
}

export function Keys({ keys }: { keys: readonly string[] }): JSX.Element {
  return <>{keys.map((key) => <kbd key={key}>{shownKey(key)}</kbd>)}</>;
}

export function Help({ app }: { app: App }): JSX.Element {
  return (
    <div class="help" tabIndex={0} aria-label="Keys and gestures">
      {helpGroups(app.commands.all()).map(({ group, commands }) => (
        <section key={group}>
          <h3>{group}</h3>
          <dl>
            {commands.map((command) => (
              <div key={command.id}>
                <dt><Keys keys={command.keys ?? []} /></dt>
                <dd>{command.title}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <section>
        <h3>Pointer</h3>
        <dl>
          {GESTURES.map(([gesture, does]) => (
            <div key={gesture}>
              <dt>{gesture}</dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </section>
      <footer>Heddle {app.state.session.value?.version}</footer>
    </div>
  );
}
