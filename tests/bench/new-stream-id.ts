import { randomUUID } from 'node:crypto';

/** Ordered by time, like the services' session ids (uuid v7). */
export function newStreamId(): string {
  const time = Date.now().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
