// The filter of tracks. Pure: a text in, a test of tracks out.
//
// A track passes if it, or a section around it, matches all terms, and neither matches "-term".   stream 7     a word
// matches a whole word of a name; a number belongs to the word before it   rank:3       a field is compared as a whole:
// rank, device (gpu), stream, pid (process), tid (thread)   /str.*7/     a regular expression, anywhere in a name Case
// is ignored.
import type { TrackInfo } from "../data/model";

type Test = (track: TrackInfo) => boolean;

export interface Term {
  not: boolean;
  meets: Test;
}

export interface TrackFilter {
  terms: Term[];
  error: string; // the fault of the text; terms is then empty
}

const FIELDS: ReadonlyMap<string, "rank" | "device" | "stream" | "pid" | "tid"> = new Map([
  ["rank", "rank"], ["device", "device"], ["gpu", "device"], ["stream", "stream"], ["pid", "pid"], ["process", "pid"],
  ["tid", "tid"], ["thread", "tid"],
]);

// A regular expression (to the next slash before a space, or to the end), or a word.
const PIECE = /(-?)(?:\/(.+?)(?:\/(?=\s|$)|$)|(\S+))/gs;
const NUMBER = /^\d+$/;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

// Words of a name end where a letter or a digit is next to another character.
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

let last = { text: "", filter: { terms: [], error: "" } as TrackFilter }; // the layout calls it for each track

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
