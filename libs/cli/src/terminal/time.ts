/** `812 ms`, `2.31 s`, `3 min 5 s`, `2 h 14 min`, `3 d 4 h` */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return two(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(minutes / 60);
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function two(large: number, unit: string, small: number, smaller: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`;
}

/** `2 min ago`, or `in 5 s` for a time to come. Less than a second either way is `just now`, because clocks differ. */
export function agoText(iso: string, now: number): string {
  const ms = now - Date.parse(iso);
  if (Math.abs(ms) < 1_000) return 'just now';
  const text = roughText(Math.abs(ms));
  return ms > 0 ? `${text} ago` : `in ${text}`;
}

/** Whole seconds, minutes, hours or days are enough in a list. */
function roughText(ms: number): string {
  for (const [unit, name] of UNITS) if (ms >= unit) return `${Math.floor(ms / unit)} ${name}`;
  return `${Math.floor(ms / 1_000)} s`;
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
] as const;

/** `14:03:07.120`, in local time, so that people can compare it with their watch. */
export function clockText(iso: string): string {
  const at = new Date(iso);
  const part = (value: number, digits = 2): string => String(value).padStart(digits, '0');
  return `${part(at.getHours())}:${part(at.getMinutes())}:${part(at.getSeconds())}.${part(at.getMilliseconds(), 3)}`;
}
