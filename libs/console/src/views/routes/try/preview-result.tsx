import type { RoutePreview } from '../../../api/calls/route-calls.ts';
import { Badge, type Tone } from '../../../parts/feedback/badge.tsx';
import { JsonView } from '../../../parts/json/json-view.tsx';
import { LongText, Untrusted } from '../../../parts/text/text.tsx';

const OUTCOMES: Readonly<Record<RoutePreview['outcome'], { readonly tone: Tone; readonly name: string }>> = {
  starts: { tone: 'ok', name: 'It starts a session' },
  ignored: { tone: 'calm', name: 'It is ignored' },
  refused: { tone: 'bad', name: 'It is refused' },
  unusable: { tone: 'bad', name: 'The settings are wrong' },
};

/** What a webhook would do, step by step: event, filters one by one, templates, target. */
export function PreviewResult({ preview }: { readonly preview: RoutePreview }) {
  const { tone, name } = OUTCOMES[preview.outcome];
  return (
    <div className="stack">
      <div role="status" className="row-head">
        <Badge tone={tone}>{name}</Badge>
        {preview.reason !== null && <Untrusted text={preview.reason} />}
      </div>
      {preview.problems.length > 0 && (
        <ul className="form-error" aria-label="Problems">
          {preview.problems.map(({ place, message }) => (
            <li key={`${place} ${message}`}>
              <code>{place}</code> <Untrusted text={message} />
            </li>
          ))}
        </ul>
      )}
      {preview.script === 'not_run' && (
        <p className="muted">
          The script of the route is not run here. It may still change or ignore the payload.
        </p>
      )}
      <dl className="facts">
        <dt>Event</dt>
        <dd>
          {preview.event === null ? <span className="muted">none</span> : <Untrusted text={preview.event} />}
          {preview.wants_event === false && <span className="form-error"> (not in events)</span>}
        </dd>
        {preview.delivery_id !== null && (
          <>
            <dt>Delivery id</dt>
            <dd>
              <Untrusted text={preview.delivery_id} className="mono" />
            </dd>
          </>
        )}
        {preview.session_key !== null && (
          <>
            <dt>Session key</dt>
            <dd>
              <Untrusted text={preview.session_key} className="mono" />
            </dd>
          </>
        )}
        {preview.title !== null && (
          <>
            <dt>Title</dt>
            <dd>
              <Untrusted text={preview.title} />
            </dd>
          </>
        )}
      </dl>
      {preview.filters.length > 0 && (
        <section>
          <h3>Filters</h3>
          <ol className="filters-judged">
            {preview.filters.map(({ index, passes, detail }) => (
              <li key={index}>
                <Badge tone={passes ? 'ok' : 'bad'}>{passes ? 'passes' : 'says no'}</Badge>
                <Untrusted text={detail} />
              </li>
            ))}
          </ol>
        </section>
      )}
      {preview.missing.length > 0 && (
        <p className="form-error">
          The payload has no value for:{' '}
          {preview.missing.map((placeholder) => (
            <code key={placeholder}>{placeholder} </code>
          ))}
        </p>
      )}
      {preview.prompt !== null && (
        <section>
          <h3>Prompt</h3>
          <LongText text={preview.prompt} label="Rendered prompt" />
        </section>
      )}
      {preview.deliver !== null && (
        <section>
          <h3>Delivered to {preview.deliver.target}</h3>
          <JsonView value={preview.deliver.to} label={`Where at ${preview.deliver.target}`} />
        </section>
      )}
      {preview.fallback_target !== null && (
        <section>
          <h3>Else to {preview.fallback_target.target}</h3>
          <JsonView value={preview.fallback_target.to} label={`Where at ${preview.fallback_target.target}`} />
        </section>
      )}
    </div>
  );
}
