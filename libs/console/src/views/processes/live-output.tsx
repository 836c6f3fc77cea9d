import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { readOutput } from '../../api/calls/process-calls.ts';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Failed } from '../../parts/feedback/states.tsx';
import { visibleText, withoutColours } from '../../parts/text/visible-text.ts';
import { EMPTY_OUTPUT, type OutputBuffer, withPart } from './output-buffer.ts';
import './processes.css';

/** Output is in a file on the host of the process, not in the log: it is asked for. */
const POLL_MS = 1_000;
const RETRY_MS = 3_000;

/** The output of a process. It follows the end unless somebody scrolled up to read. */
export function LiveOutput({ id, running }: { readonly id: string; readonly running: boolean }) {
  const [buffer, setBuffer] = useState<OutputBuffer>(EMPTY_OUTPUT);
  const [error, setError] = useState<unknown>(null);
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(true);

  // When the process ends, the effect runs once more and reads what came last.
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let current = EMPTY_OUTPUT;
    const read = async () => {
      try {
        const part = await readOutput(id, current.next, stop.signal);
        if (stop.signal.aborted) return;
        current = withPart(current, part);
        setBuffer(current);
        setError(null);
        if (!part.at_end) timer = setTimeout(() => void read(), 0);
        else if (running) timer = setTimeout(() => void read(), POLL_MS);
      } catch (failed) {
        if (stop.signal.aborted) return;
        setError(failed);
        if (running) timer = setTimeout(() => void read(), RETRY_MS);
      }
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, running]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows the text.
  useLayoutEffect(() => {
    if (box.current !== null && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [buffer.text]);

  return (
    <section className="stack" aria-label="Output of the process">
      <div className="list-actions">
        <h2>Output</h2>
        <span className="muted">
          {running ? 'live' : 'as far as it is kept'}
          {buffer.cut && ', without its beginning'}
        </span>
        <span className="end">
          <CopyButton text={buffer.text} of="the output" />
        </span>
      </div>
      {error !== null && <Failed error={error} triesAgain={running} />}
      <section
        ref={box}
        className="process-output"
        aria-label="Output"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
        tabIndex={0}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
        }}
      >
        <pre dir="auto" className="untrusted">
          {buffer.text === '' && error === null
            ? 'Nothing was printed yet.'
            : visibleText(withoutColours(buffer.text))}
        </pre>
      </section>
    </section>
  );
}
