// The list of marks: rename, go to, remove.
import type { JSX } from "preact";
import type { App } from "../app";
import { formatDuration } from "../format";
import { LONGEST_NAME, removeMark, renameMark } from "../marks";
import { say } from "../tools/select_actions";
import type { Mark } from "../state";

function Row({ app, mark }: { app: App; mark: Mark }): JSX.Element {
  const { marks, dialog } = app.state;
  return (
    <tr>
      <td>
        <input type="text" value={mark.name} maxLength={LONGEST_NAME} aria-label="Name of the mark" onChange={(event) => {
          marks.value = renameMark(marks.value, mark.id, event.currentTarget.value);
          event.currentTarget.value = marks.value.find((one) => one.id === mark.id)?.name ?? "";
          app.redraw();
        }} />
      </td>
      <td class="number">{formatDuration(mark.from)}</td>
      <td class="number">{formatDuration(mark.until - mark.from)}</td>
      <td class="buttons">
        <button type="button" class="dialog-button" onClick={() => {
          dialog.value = null;
          app.hands.actions.showMark(mark);
        }}>Go to</button>
        <button type="button" class="dialog-button" aria-label={`Remove ${mark.name}`} onClick={() => {
          marks.value = removeMark(marks.value, mark.id);
          say(app, `${mark.name} is removed.`);
          app.redraw();
        }}>Remove</button>
      </td>
    </tr>
  );
}

export function MarkList({ app }: { app: App }): JSX.Element {
  const marks = [...app.state.marks.value].sort((a, b) => a.from - b.from || a.id - b.id);
  if (marks.length === 0) {
    return <p class="dialog-note">There are no marks yet. <kbd>M</kbd> marks what is selected, or what the timing tool measured.</p>;
  }
  return (
    <div class="marks">
      <table>
        <thead>
          <tr><th scope="col">Name</th><th scope="col">Start</th><th scope="col">Duration</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr>
        </thead>
        <tbody>{marks.map((mark) => <Row app={app} mark={mark} key={mark.id} />)}</tbody>
      </table>
    </div>
  );
}
