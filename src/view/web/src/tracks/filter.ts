// What is typed into the filter of tracks. Pure: a text in, a test of tracks out.
//
// All terms must be met by the track or by a section that it is in; "-term" by none of them.
//   stream 7     a word is met by a whole word of a name; a number belongs to the word before it
//   rank:3       a field is compared whole: rank, device (gpu), stream, pid (process), tid (thread)
//   /str.*7/     a regular expression, in any part of a name
// Large and small letters are the same.
import type { TrackInfo } from "../data/model";

type Test = (track: TrackInfo) => boolean;

export interface Term {
  not: boolean;
  meets: Test;
}

export interface TrackFilter {
  terms: Term[];
  error: string; // what is wrong with the text; there are no terms then
}

const FIELDS: ReadonlyMap<string, "rank" | "device" | "stream" | "pid" | "tid"> = new Map([
  ["rank", "rank"], ["device", "device"], ["gpu", "device"], ["stream", "stream"], ["pid", "pid"], ["process", "pid"],
  ["tid", "tid"], ["thread", "tid"],
]);

// A regular expression (to the next slash before a space, or to the end), or what has no spaces.
const PIECE = /(-?)(?:\/(.+?)(?:\/(?=\s|$)|$)|(\S+))/gs;
const NUMBER = /^\d+$/;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

// Words of a name end where a letter or a digit stands beside something else.
function wordTest(words: readonly string[]): Test {
  const text = words.map(escaped).join("[\\s_:#=\\-]*");
  const pattern = new RegExp(`(?:^|[^\\p{L}\\p{N}])${text}(?![\\p{L}\\p{N}])`, "iu");
  return (track) => pattern.test(track.name);
}

function fieldTest(text: string): Test | null {
  const colon = text.indexOf(":");
  const field = FIELDS.get(text.slice(0, Math.max(0, colon)).toLowerCase());
  const wanted = text.slice(colon + 1).toLowerCase();
  if (!field || wanted === "") return null;
  return (track) => String(track[field] ?? "").toLowerCase() === wanted;
}

function regexTest(text: string): Test {
  const pattern = new RegExp(text, "i");
  return (track) => pattern.test(track.name);
}

let last = { text: "", filter: { terms: [], error: "" } as TrackFilter }; // the layout asks for each track

export function parseFilter(text: string): TrackFilter {
  if (text !== last.text) last = { text, filter: parsed(text) };
  return last.filter;
}

export const isFilter = (text: string): boolean => parseFilter(text).terms.length > 0;

function parsed(text: string): TrackFilter {
  const terms: Term[] = [];
  let open = ""; // the word before, which a number may belong to
  try {
    for (const [, minus, regex, word = ""] of text.matchAll(PIECE)) {
      if (open && !minus && NUMBER.test(word)) {
        (terms[terms.length - 1] as Term).meets = wordTest([open, word]);
        open = "";
        continue;
      }
      open = "";
      if (word === "-" || word === "/") continue; // there is more to be typed
      const meets = regex !== undefined ? regexTest(regex) : fieldTest(word);
      if (!meets && !NUMBER.test(word)) open = word;
      terms.push({ not: minus !== "", meets: meets ?? wordTest([word]) });
    }
  } catch (error) {
    return { terms: [], error: error instanceof Error ? error.message : String(error) };
  }
  return { terms, error: "" };
}
