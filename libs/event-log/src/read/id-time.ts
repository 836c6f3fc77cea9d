/** The beginning of every session id (UUID v7) that is made at this time. */
export function idAt(ms: number): string {
  const hex = Math.min(Math.max(0, Math.floor(ms)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** SQL: the time of an id in milliseconds. It is the clock of the ingress that took the webhook. */
export function idTime(column: string): string {
  return `('x' || left(${column}, 8) || substr(${column}, 10, 4))::bit(48)::bigint`;
}
