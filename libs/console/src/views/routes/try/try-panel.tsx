import { useEffect, useEffectEvent, useId, useState } from 'react';
import type { RoutePreview, Settings } from '../../../api/calls/route-calls.ts';
import { LazyCodeEditor } from '../../../parts/code/lazy-code-editor.tsx';
import { Failed, Loading } from '../../../parts/feedback/states.tsx';
import { PreviewResult } from './preview-result.tsx';
import { TestSender } from './test-sender.tsx';
import { usePreview } from './use-preview.ts';
import { parseHeaders, parsePayload } from './webhook-headers.ts';

interface Props {
  readonly name: string | null;
  /** What is being edited; null: the route as it is. */
  readonly settings: Settings | null;
  readonly canSend: boolean;
  readonly cannotSendBecause?: string;
  readonly onPreview?: (preview: RoutePreview) => void;
}

const EXAMPLE = '{\n  "name": "world"\n}';

/** A webhook to paste, what it would do, and a way to send it as a test. It stays in this page only. */
export function TryPanel({ name, settings, canSend, cannotSendBecause, onPreview }: Props) {
  const [text, setText] = useState(EXAMPLE);
  const [headerText, setHeaderText] = useState('');
  const id = useId();
  const parsed = parsePayload(text);
  const { headers, wrong } = parseHeaders(headerText);
  const payload = 'payload' in parsed ? parsed.payload : null;
  const preview = usePreview('error' in parsed ? null : { name, settings, payload, headers });
  const tellPreview = useEffectEvent((found: RoutePreview) => onPreview?.(found));
  useEffect(() => {
    if (preview.data !== undefined) tellPreview(preview.data);
  }, [preview.data]);
  return (
    <section className="try" aria-label="Try a webhook">
      <h2>A webhook to try</h2>
      <div className="setting">
        <span className="setting-name" aria-hidden="true">
          Payload
        </span>
        <LazyCodeEditor label="Payload" language="json" value={text} minHeight={120} onChange={setText} />
        {'error' in parsed && (
          <p className="form-error" role="alert">
            {parsed.error}
          </p>
        )}
      </div>
      <div className="setting">
        <label htmlFor={id}>Headers</label>
        <textarea
          id={id}
          className="field mono"
          rows={2}
          spellCheck={false}
          placeholder="X-GitHub-Event: pull_request"
          value={headerText}
          aria-invalid={wrong.length > 0}
          onChange={(event) => setHeaderText(event.target.value)}
        />
        {wrong.length > 0 && <p className="form-error">Not a header (name: value): {wrong.join(' | ')}</p>}
      </div>
      <h2>What it would do</h2>
      {preview.isPending && preview.fetchStatus === 'fetching' && <Loading what="the preview" />}
      {preview.isError && <Failed error={preview.error} retry={() => void preview.refetch()} />}
      {preview.data !== undefined && <PreviewResult preview={preview.data} />}
      <TestSender
        name={name}
        payload={'payload' in parsed ? { value: parsed.payload } : null}
        headers={headers}
        blocked={
          canSend && name !== null ? null : (cannotSendBecause ?? 'The route cannot take webhooks now.')
        }
      />
    </section>
  );
}
