// The icons of the toolbar, drawn on a grid of 16 px in the colour of the text.
import type { ComponentChildren, JSX } from "preact";

function icon(...children: ComponentChildren[]): JSX.Element {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false" fill="none" stroke="currentColor"
      stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">
      {children}
    </svg>
  );
}

export const icons = {
  open: icon(<path d="M1.5 12.5v-9h4l1.5 2h6v2M1.5 12.5l2-5h11l-2 5z" />),
  select: icon(<path d="M4 2l8 7.5H8.3L6 14z" fill="currentColor" />),
  pan: icon(<path d="M8 1.5v13M1.5 8h13M6 3.5l2-2 2 2M6 12.5l2 2 2-2M3.5 6l-2 2 2 2M12.5 6l2 2-2 2" />),
  zoom: icon(<circle cx="7" cy="7" r="4.5" />, <path d="M10.5 10.5l4 4M7 5v4M5 7h4" />),
  time: icon(<path d="M2 3v10M14 3v10M4.5 8h7M6 6L4 8l2 2M10 6l2 2-2 2" />),
  flows: icon(<path d="M2 4h3c4 0 2 8 6 8h3M11.5 9.5L14 12l-2.5 2.5" />),
  colour: icon(<path d="M2 4h7v3H2z" fill="currentColor" />, <path d="M7 9h7v3H7z" />),
  axis: icon(<path d="M1.5 11.5h13M3 11.5V7M7 11.5V9M11 11.5V9M14 11.5V7M3 4h6M7.5 2.5L9 4 7.5 5.5" />),
  theme: icon(<circle cx="8" cy="8" r="5.5" />, <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor" />),
  marks: icon(<path d="M4 1.5h8v13l-4-3-4 3z" />),
  palette: icon(<path d="M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10h3" />),
  help: icon(<circle cx="8" cy="8" r="6.3" />, <path d="M6 6.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.6-.8 1.2M8 11.4v.1" />),
  down: icon(<path d="M4.5 6.5L8 10l3.5-3.5" />),
};

export type IconName = keyof typeof icons;
