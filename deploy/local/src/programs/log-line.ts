/** Control characters, which could steer the terminal: strangers write answers (`deliver: log`) and delivery ids. */
const CONTROLS = /\p{Cc}+/gu;

/** Makes one line of a service's JSON log readable; other lines stay as they are. Returns one line of plain text. */
export function renderLogLine(line: string): string {
  return readable(line).replace(CONTROLS, ' ');
}

function readable(line: string): string {
  if (!line.startsWith('{')) return line;
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line);
  } catch {
    return line; // cut off by a crash: show it rather than hide it
  }
  const { level, msg } = record;
  const error = errorMessage(record.err ?? record.error);
  const details = Object.entries(record)
    // `detail` says why something was refused, in a sentence or two that are bounded where they are written.
    .filter(([key, value]) => !NOT_SHOWN.has(key) && (key === 'detail' || isShort(value)))
    .map(([key, value]) => `${key}=${value}`);
  return [levelName(level).padEnd(5), text(msg), ...details, ...(error ? [`err=${error}`] : [])].join(' ');
}

/** In the file but not shown: the prefix names the service, and the trace is for machines. */
const NOT_SHOWN = new Set([
  ...['level', 'time', 'pid', 'hostname', 'msg', 'name', 'service', 'instance', 'err', 'error'],
  ...['trace_id', 'span_id', 'trace_flags', 'v'],
]);

const PINO_LEVELS: Record<string, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};

const levelName = (level: unknown): string => PINO_LEVELS[String(level)] ?? text(level);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

function isShort(value: unknown): boolean {
  return ['number', 'boolean'].includes(typeof value) || (typeof value === 'string' && value.length <= 120);
}

function errorMessage(error: unknown): string {
  if (typeof error === 'string') return error;
  if (typeof error !== 'object' || error === null || !('message' in error)) return '';
  return text(error.message);
}
