// Colours of bars: by class, by name, by category. A name's colour, or shade, is a stable hash of its text, so that it is the
// same in every trace and visit. The palette keeps to pairs that are distinguishable with colour blindness: hues of blue, orange, yellow, violet, each in
// steps of lightness; red and green of equal lightness do not occur. Packed as 0xAABBGGRR.
import type { NameInfo } from "../data/model";

export type Rgba = number;

export function pack(r: number, g: number, b: number, a = 255): Rgba {
  return ((a << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function css(rgba: Rgba): string {
  const a = rgba >>> 24;
  const rgb = `${rgba & 255} ${(rgba >>> 8) & 255} ${(rgba >>> 16) & 255}`;
  return a === 255 ? `rgb(${rgb})` : `rgb(${rgb} / ${(a / 255).toFixed(3)})`;
}

export function withAlpha(rgba: Rgba, alpha: number): Rgba {
  return ((rgba & 0xffffff) | (alpha << 24)) >>> 0;
}

// `share` of b in a.
export function mix(a: Rgba, b: Rgba, share: number): Rgba {
  const part = (shift: number): number => Math.round(((a >>> shift) & 255) * (1 - share) + ((b >>> shift) & 255) * share);
  return pack(part(0), part(8), part(16), part(24));
}

// 0 black … 1 white, as the eye has it.
export function lightness(rgba: Rgba): number {
  const linear = (v: number): number => (v <= 10 ? v / 3295 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const y = 0.2126 * linear(rgba & 255) + 0.7152 * linear((rgba >>> 8) & 255) + 0.0722 * linear((rgba >>> 16) & 255);
  return Math.cbrt(y);
}

// OKLCH (hue in degrees) as sRGB, clipped.
function oklch(l: number, c: number, hue: number): Rgba {
  const a = c * Math.cos((hue * Math.PI) / 180);
  const b = c * Math.sin((hue * Math.PI) / 180);
  const l3 = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m3 = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s3 = (l - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const to8 = (v: number): number => {
    const clipped = Math.max(0, Math.min(1, v));
    return Math.round(255 * (clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055));
  };
  return pack(
    to8(4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3),
    to8(-1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3),
    to8(-0.0041960863 * l3 - 0.7034186147 * m3 + 1.707614701 * s3),
  );
}

// Lightness, chroma, hue of the light theme; the dark one is somewhat darker.
const TONES: readonly [number, number, number][] = [
  [0.66, 0.12, 250], [0.76, 0.12, 62], [0.84, 0.11, 95], [0.62, 0.1, 300], [0.74, 0.09, 205], [0.68, 0.12, 350],
  [0.78, 0.08, 250], [0.66, 0.12, 48], [0.74, 0.1, 100], [0.75, 0.08, 300], [0.63, 0.08, 200], [0.8, 0.08, 345],
  [0.58, 0.12, 262], [0.84, 0.08, 70], [0.68, 0.06, 110], [0.57, 0.1, 318], [0.83, 0.07, 200], [0.6, 0.13, 12],
];

export function palette(dark: boolean): Rgba[] {
  return TONES.map(([l, c, hue]) => oklch(dark ? l * 0.93 : l, dark ? c * 0.95 : c, hue));
}

// Known categories have colours of their own, all others get one by hash.
const CATEGORY_TONES: readonly [RegExp, number][] = [
  [/nccl|rccl|comm|collective/i, 1],
  [/memcpy|copy/i, 4],
  [/memset/i, 16],
  [/^kernel|gpu_op|compute/i, 0],
  [/runtime|driver|launch/i, 8],
  [/python/i, 3],
  [/annotation|step|range|marker|nvtx/i, 2],
  [/cpu_op|operator/i, 6],
  [/overhead|sync|wait/i, 5],
];

// What runs: the colours of bars, of the breakdown and of charts (theme.ts makes them variables of the style sheet). For the
// light and the dark theme.
export const CLASSES = {
  compute: [pack(47, 111, 180), pack(91, 151, 216)],
  communication: [pack(209, 115, 12), pack(240, 160, 75)],
  copy: [pack(43, 138, 87), pack(98, 196, 142)],
  wait: [pack(201, 170, 20), pack(207, 191, 77)],
  memory: [pack(140, 36, 96), pack(224, 127, 180)],
  idle: [pack(195, 201, 209), pack(74, 83, 95)],
  launch: [pack(158, 140, 222), pack(166, 152, 236)],
  operator: [pack(124, 143, 170), pack(139, 158, 186)],
  python: [pack(160, 138, 120), pack(171, 150, 133)],
  range: [pack(84, 184, 190), pack(94, 197, 209)],
  other: [pack(150, 158, 168), pack(118, 128, 140)],
} as const;
export type Class = keyof typeof CLASSES;

export const classTone = (of: Class, dark: boolean): Rgba => CLASSES[of][dark ? 1 : 0];

// Names of one class differ in lightness.
const SHADES = [0, 0.14, 0.28, 0.42];

// Idle time is grey with a tint of what it waits for: by the causes of `heddle report idle`.
const IDLE_TINTS: Readonly<Record<string, Class>> = {
  host: "operator", sync: "wait", launch: "launch", dependency: "range", transfer: "copy", device: "compute",
};

export function idleTone(text: string, by: string, theme: Theme): Rgba {
  const tint = by === "class" ? IDLE_TINTS[text.slice("idle: ".length)] : undefined;
  return tint ? mix(theme.idle, classTone(tint, theme.dark), 0.35) : theme.idle;
}

function toneOfClass(info: NameInfo, theme: Theme): Rgba {
  const of = info.class !== undefined && info.class in CLASSES ? (info.class as Class) : "other";
  if (of === "idle") return idleTone(info.text, "class", theme);
  const own = info.colour ? Number.parseInt(info.colour.slice(1), 16) : null; // of the user's group
  const tone = own === null ? classTone(of, theme.dark) : pack(own >> 16, (own >> 8) & 255, own & 255);
  return mix(tone, theme.background, SHADES[hashOf(info.short ?? info.text) % SHADES.length]);
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let k = 0; k < text.length; k++) hash = Math.imul(hash ^ text.charCodeAt(k), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 8;
}

export function toneOf(info: NameInfo, by: "class" | "name" | "category", theme: Theme): Rgba {
  const { tones } = theme;
  if (by === "class") return toneOfClass(info, theme);
  if (by === "name") return tones[hashOf(info.short ?? info.text) % tones.length];
  const category = info.category || info.role;
  const known = CATEGORY_TONES.find(([pattern]) => pattern.test(category) || (category === "" && pattern.test(info.role)));
  return tones[known ? known[1] : hashOf(category) % tones.length];
}

// By the verdict of a diff on a name: red is slower or new, blue faster or gone, as in flame graphs; all others are pale.
export function changeTone(verdict: string | undefined, theme: Theme): Rgba {
  if (verdict === "slower" || verdict === "new") return oklch(theme.dark ? 0.6 : 0.64, 0.19, 27);
  if (verdict === "faster" || verdict === "gone") return oklch(theme.dark ? 0.6 : 0.62, 0.15, 250);
  return mix(theme.unknown, theme.background, 0.45);
}

export interface Theme {
  dark: boolean;
  tones: Rgba[];
  background: Rgba;
  stripe: Rgba; // of sections
  line: Rgba; // between tracks
  grid: Rgba;
  text: Rgba;
  muted: Rgba;
  unknown: Rgba; // a bar whose name is not loaded yet
  idle: Rgba; // idle time: it must not look like an activity
  hatch: Rgba;
  accent: Rgba;
  hover: Rgba;
  hit: Rgba; // what a search found
  mark: Rgba;
  pointer: Rgba;
}

export function themeOf(dark: boolean): Theme {
  const tones = palette(dark);
  return dark
    ? {
        dark, tones, background: pack(20, 24, 29), stripe: pack(28, 33, 40), line: pack(39, 46, 54), grid: pack(33, 39, 46),
        text: pack(223, 228, 234), muted: pack(150, 160, 173), unknown: pack(92, 101, 112), idle: pack(72, 80, 91), hatch: pack(70, 80, 92),
        accent: pack(108, 176, 255), hover: pack(223, 228, 234), hit: pack(255, 214, 82), mark: pack(180, 140, 255),
        pointer: pack(150, 160, 173),
      }
    : {
        dark, tones, background: pack(255, 255, 255), stripe: pack(243, 244, 247), line: pack(226, 229, 234), grid: pack(237, 239, 242),
        text: pack(27, 32, 39), muted: pack(93, 102, 114), unknown: pack(178, 185, 194), idle: pack(212, 216, 222), hatch: pack(190, 197, 206),
        accent: pack(11, 99, 197), hover: pack(27, 32, 39), hit: pack(214, 40, 40), mark: pack(116, 66, 200),
        pointer: pack(93, 102, 114),
      };
}
