// Where a device's time goes: a bar, and each class with its figure, which leads to its track.
import type { JSX } from "preact";
import { formatDuration, formatPercent, formatShort } from "../../format";
import { PARTS, type Part, type Parts } from "./start_data";

export const shareText = (of: Parts, part: Part): string => (of.span > 0 ? formatPercent(of.parts[part] / of.span) : "–");

export const partsText = (of: Parts): string =>
  PARTS.map(([part, title]) => `${title} ${formatShort(of.parts[part])} (${shareText(of, part)})`).join(", ");

// `onPart`: what a click on a part does; null: nothing can be shown for it.
export function BreakdownBar({ of, onPart }: { of: Parts; onPart: (part: Part) => (() => void) | null }): JSX.Element {
  return (
    <>
    <div class="breakdownbar" role="img" aria-label={`of ${formatShort(of.span)}: ${partsText(of)}`}>
      {PARTS.filter(([part]) => of.parts[part] > 0).map(([part, title]) => {
        const go = onPart(part);
        const text = `${shareText(of, part)} ${title}`;
        return (
          <button key={part} type="button" tabIndex={-1} aria-hidden="true" class={`class-${part}`} disabled={!go} style={{ flexGrow: of.parts[part] / of.span }}
            title={`${title}: ${formatDuration(of.parts[part])}, ${shareText(of, part)} of ${formatDuration(of.span)}${go ? "\nClick: show it as a track" : ""}`}
            onClick={() => go?.()}>
            <span class="on">{text}</span>
          </button>
        );
      })}
    </div>
    <ul class="partlinks">
      {PARTS.map(([part, title]) => {
        const go = onPart(part);
        const text = `${title} ${formatShort(of.parts[part])}, ${shareText(of, part)}`;
        return (
          <li key={part}><span class={`swatch class-${part}`} aria-hidden="true" />
            {go ? <button type="button" class="link" title={`${formatDuration(of.parts[part])}\nClick: show it as a track`} onClick={go}>{text}</button> : <span title={formatDuration(of.parts[part])}>{text}</span>}
          </li>
        );
      })}
    </ul>
    </>
  );
}
