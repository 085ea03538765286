// How large letters are: 1 where a rem has 16 px, 2 with a browser's text at 200 %. Sizes that are drawn or computed grow
// with it, as those of the style sheet do by themselves. No DOM but for attachScale.
import { signal } from "@preact/signals";

export const scale = signal(1);

// A length for letters of the usual size, in px.
export const scaled = (px: number): number => Math.round(px * scale.value);

// The same for the style of an element.
export const rem = (px: number): string => `${px / 16}rem`;

// Follows the size that the browser gives a rem, by an element of that size.
export function attachScale(): void {
  const probe = document.createElement("div");
  probe.style.cssText = "position: absolute; visibility: hidden; width: 1rem; height: 1px";
  probe.setAttribute("aria-hidden", "true");
  document.body.append(probe);
  const measure = (): void => { scale.value = Math.max(0.5, Math.min(8, probe.getBoundingClientRect().width / 16 || 1)); };
  measure();
  new ResizeObserver(measure).observe(probe);
}
