import { eventually, type OtlpReceiver, type ReceivedSpan } from '@angelia/testkit';

/** Waits until the trace is whole: it has so many spans of each name, its root, and the parent of every span. */
export function wholeTrace(
  receiver: OtlpReceiver,
  traceId: string,
  wanted: Readonly<Record<string, number>>,
): Promise<ReceivedSpan[]> {
  return eventually(
    () => {
      const found = receiver.spansOf(traceId);
      const hasAll = Object.entries(wanted).every(
        ([name, count]) => found.filter((span) => span.name === name).length >= count,
      );
      return hasAll && found.some(isRoot) && orphans(found).length === 0 && found;
    },
    { describe: () => `a whole trace with ${JSON.stringify(wanted)}: ${summary(receiver.spansOf(traceId))}` },
  );
}

/** These are shown if they take a second, which depends on how busy the machine is. */
const SHOWN_IF_LONG = ['wait in queue', 'wait for target'];

/** Sorted by name within a parent, and indented by depth. */
export function tree(spans: readonly ReceivedSpan[], parent = '', depth = 0): string[] {
  return spans
    .filter(({ name, parentSpanId }) => parentSpanId === parent && !SHOWN_IF_LONG.includes(name))
    .map((span) => {
      const error = span.status === 'error' ? ' (error)' : '';
      const line = `${'  '.repeat(depth)}${span.service.replace('angelia-', '')}: ${span.name}${error}`;
      return [line, ...tree(spans, span.spanId, depth + 1)];
    })
    .sort((a, b) => (a.join('\n') < b.join('\n') ? -1 : 1))
    .flat();
}

export const isRoot = (span: ReceivedSpan) => span.parentSpanId === '';

export function orphans(spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter((span) => !isRoot(span) && !ids.has(span.parentSpanId));
}

export function summary(spans: readonly ReceivedSpan[]): string {
  return spans
    .map(({ service, name, spanId, parentSpanId }) => `${service} ${name} ${parentSpanId}>${spanId}`)
    .join('\n');
}
