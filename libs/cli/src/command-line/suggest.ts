/** Further away than this, a suggestion is a guess: `sesions` is 1 away, `lst` from `list` 1, `delivries` 2. */
const MOST_EDITS = 2;

/** The known word that was most likely meant; null when none is near. */
export function suggest(word: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let fewest = MOST_EDITS + 1;
  for (const candidate of known) {
    // Who begins a word and stops means that word: `dead` is `dead-letters`.
    const edits = word.length >= 3 && candidate.startsWith(word) ? 1 : editsBetween(word, candidate);
    // Of a short word two edits leave nothing.
    if (edits < fewest && edits < Math.max(candidate.length, word.length) - 1) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours. */
export function editsBetween(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const at = (up: number, left: number): number => rows[i - up]?.[j - left] ?? 0;
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(at(1, 0) + 1, (row[j - 1] ?? 0) + 1, at(1, 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, at(2, 2) + 1);
      }
      row.push(edits);
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
