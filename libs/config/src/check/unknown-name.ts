import { suggest } from '@angelia/contracts';

/** The sentence for a name that is not in a list of names. */
export function unknownName(what: string, name: string, known: readonly string[]): string {
  const there =
    known.length === 0 ? 'there are none' : `there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
  const near = suggest(name, known);
  const meant = near === null ? '' : `. Did you mean \`${near}\`?`;
  return `no ${what} is named \`${name}\` (${there})${meant}`;
}
