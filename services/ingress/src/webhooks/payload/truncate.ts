/** At most `limit` UTF-16 units, and no half of a surrogate pair at the cut: Postgres could not store it. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splitsPair ? limit - 1 : limit);
}
