/** Where times are shown: where the browser is, or UTC as in logs. */
export type Zone = 'local' | 'utc';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `12 s ago`, `3 min ago`, `in 2 h`. Beyond 30 days the date says more. */
export function relativeTime(at: number, now: number, zone: Zone = 'local'): string {
  const distance = Math.abs(now - at);
  if (distance < 2 * SECOND) return 'now';
  if (distance >= 30 * DAY) return exactTime(at, zone).slice(0, 10);
  const text = duration(distance, 1);
  return at <= now ? `${text} ago` : `in ${text}`;
}

/**
 * `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. `parts`: how many units at most.
 */
export function duration(ms: number, parts: 1 | 2 = 2): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * SECOND && parts === 2) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  const [size, name, next, nextName] =
    ms < HOUR
      ? ([MINUTE, 'min', SECOND, 's'] as const)
      : ms < DAY
        ? ([HOUR, 'h', MINUTE, 'min'] as const)
        : ([DAY, 'd', HOUR, 'h'] as const);
  const rest = Math.floor((ms % size) / next);
  const first = `${Math.floor(ms / size)} ${name}`;
  return parts === 1 || rest === 0 ? first : `${first} ${rest} ${nextName}`;
}

/** `2026-11-18 14:05:09.120 UTC`, or with the offset of the zone: `2026-11-18 15:05:09.120 +01:00`. */
export function exactTime(at: number, zone: Zone): string {
  if (!Number.isFinite(at)) return 'unknown time';
  const offset = zone === 'utc' ? 0 : -new Date(at).getTimezoneOffset();
  const shifted = new Date(at + offset * MINUTE).toISOString();
  return `${shifted.slice(0, 10)} ${shifted.slice(11, 23)} ${zone === 'utc' ? 'UTC' : offsetText(offset)}`;
}

/** `14:05:09` of a day that the reader knows. */
export function clockTime(at: number, zone: Zone): string {
  return exactTime(at, zone).slice(11, 19);
}

function offsetText(minutes: number): string {
  const size = Math.abs(minutes);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
