// How well a text matches typed letters: in order, better at starts of words and for consecutive letters.
export interface Match {
  score: number;
  at: number[]; // places of the letters
}

const isWordStart = (text: string, at: number): boolean => at === 0 || /[\s:/._-]/.test(text[at - 1] as string);

// Null: no match. Words of the query may come in any order.
export function fuzzy(query: string, text: string): Match | null {
  const lower = text.toLowerCase();
  let score = 0;
  const at: number[] = [];
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word === "") continue;
    const match = matchWord(word, lower);
    if (!match) return null;
    score += match.score;
    at.push(...match.at);
  }
  // Of two that match alike the shorter one.
  return { score: score - text.length * 0.01, at: [...new Set(at)].sort((a, b) => a - b) };
}

function matchWord(word: string, text: string): Match | null {
  // As a whole: at the start of a word, or anywhere.
  let best = -1;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (best < 0 || (isWordStart(text, at) && !isWordStart(text, best))) best = at;
  }
  if (best >= 0) {
    const bonus = best === 0 ? 24 : isWordStart(text, best) ? 20 : 8;
    return { score: word.length * 4 + bonus, at: Array.from(word, (_, k) => best + k) };
  }
  // Letter by letter, the start of a word before any other place.
  const at: number[] = [];
  let from = 0;
  let score = 0;
  for (const letter of word) {
    let found = text.indexOf(letter, from);
    if (found < 0) return null;
    for (let next = found; next >= 0; next = text.indexOf(letter, next + 1)) {
      if (isWordStart(text, next) && restFits(word.slice(at.length + 1), text, next + 1)) {
        found = next;
        break;
      }
    }
    score += isWordStart(text, found) ? 3 : found === from ? 2 : 0;
    at.push(found);
    from = found + 1;
  }
  return { score, at };
}

function restFits(rest: string, text: string, from: number): boolean {
  for (const letter of rest) {
    const found = text.indexOf(letter, from);
    if (found < 0) return false;
    from = found + 1;
  }
  return true;
}

export function ranked<T>(query: string, items: readonly T[], textOf: (item: T) => string, most: number): { item: T; match: Match }[] {
  const out: { item: T; match: Match; order: number }[] = [];
  items.forEach((item, order) => {
    const match = fuzzy(query, textOf(item));
    if (match) out.push({ item, match, order });
  });
  const byScore = query.trim() !== "";
  out.sort((a, b) => (byScore ? b.match.score - a.match.score : 0) || a.order - b.order);
  return out.slice(0, most);
}
