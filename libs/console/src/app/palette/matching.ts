/** Those whose name has every word that was typed, the ones with a word at its beginning first. */
export function matching<T extends { readonly name: string }>(
  commands: readonly T[],
  typed: string,
): readonly T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return commands
    .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
    .map((command) => ({ command, rank: words.filter((word) => beginsAWord(command.name, word)).length }))
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ command }) => command);
}

function beginsAWord(name: string, word: string): boolean {
  return name
    .toLowerCase()
    .split(/\W+/)
    .some((part) => part.startsWith(word));
}
