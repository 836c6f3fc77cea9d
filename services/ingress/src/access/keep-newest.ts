/** Moves the key to the end of a set or map whose oldest key is first, and drops the oldest beyond `most`. */
export function keepNewest(
  held: { delete(key: string): boolean; keys(): Iterator<string>; readonly size: number },
  key: string,
  most: number,
  add: () => void,
): void {
  held.delete(key);
  add();
  if (held.size > most) held.delete(held.keys().next().value as string);
}
