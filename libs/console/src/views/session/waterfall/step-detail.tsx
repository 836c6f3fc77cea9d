import type { ReactNode } from 'react';
import { Details } from '../../../parts/controls/details.tsx';
import { Icon } from '../../../parts/controls/icon.tsx';
import { Badge } from '../../../parts/feedback/badge.tsx';
import { JsonView } from '../../../parts/json/json-view.tsx';
import { parsedJson } from '../../../parts/json/parsed-json.ts';
import { Markdown } from '../../../parts/markdown/markdown.tsx';
import { LongText } from '../../../parts/text/text.tsx';
import { countText, visibleText, withoutColours } from '../../../parts/text/visible-text.ts';
import { Time, Took } from '../../../parts/time/time.tsx';
import { EventData, type SessionEvent } from '../session-event.ts';
import type { Step } from './step.ts';
import type { Zoom } from './time-scale.ts';

interface Props {
  readonly step: Step;
  readonly events: readonly SessionEvent[];
  readonly onZoom: (zoom: Zoom) => void;
  readonly onClose: () => unknown;
}

/** Everything about one step: what went in, what came out, when, and the events that say so. */
export function StepDetail({ step, events, onZoom, onClose }: Props) {
  // Versions count from 1, without gaps.
  const own = step.versions.flatMap((version) => events[version - 1] ?? []);
  return (
    <section className="panel step-detail" aria-label="Details of the step">
      <header className="step-header">
        <h2>
          <bdi>{visibleText(step.label)}</bdi>
        </h2>
        <Badge tone={step.tone}>{step.state}</Badge>
        {step.until !== null && step.until > step.from && (
          <button
            type="button"
            className="icon-button"
            aria-label="Zoom to this step"
            title="Zoom to this step"
            onClick={() => onZoom({ from: step.from, until: step.until ?? step.from })}
          >
            <Icon name="search" />
          </button>
        )}
        <button type="button" className="icon-button" aria-label="Close the details" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <dl className="facts">
        <dt>Began</dt>
        <dd>
          <Time at={step.from} exact />
        </dd>
        {step.until !== null && step.until !== step.from && (
          <>
            <dt>Ended</dt>
            <dd>
              <Time at={step.until} exact />
            </dd>
          </>
        )}
        {step.until !== step.from && (
          <>
            <dt>Took</dt>
            <dd>
              <Took from={step.from} until={step.until} />
            </dd>
          </>
        )}
      </dl>
      {own.map((event) => (
        <EventDetail key={event.version} event={event} />
      ))}
      {own.length === 0 && <p className="muted">Its event appears when it is over.</p>}
    </section>
  );
}

/** What an event says to a reader, and the event itself. */
function EventDetail({ event }: { readonly event: SessionEvent }) {
  return (
    <article className="event-detail">
      <h3>
        {event.type} <span className="muted">{event.version}</span>
      </h3>
      <Content event={event} />
      <Details summary="Raw event">
        {() => <JsonView value={event} label={`Event ${event.version}`} />}
      </Details>
    </article>
  );
}

function Content({ event }: { readonly event: SessionEvent }): ReactNode {
  const data = new EventData(event);
  switch (event.type) {
    case 'turn.requested':
    case 'webhook.coalesced':
      return <Part name="Input" text={data.text('input')} />;
    case 'model.responded': {
      const calls = (event.data as { tool_calls?: unknown }).tool_calls;
      const usage = data.usage;
      return (
        <>
          {usage !== null && (
            <p className="muted">
              {countText(usage.input)} tokens in, {countText(usage.output)} out
            </p>
          )}
          <MarkdownPart name="Output" text={data.text('text')} />
          {Array.isArray(calls) && calls.length > 0 && <JsonView value={calls} label="Tool calls" />}
        </>
      );
    }
    case 'tool.started':
      return <Value name="Arguments" text={data.text('arguments')} />;
    case 'tool.finished':
      return <Value name="Result" text={data.text('result')} />;
    case 'session.interim-status':
    case 'session.final-response':
      return <MarkdownPart name="Text" text={data.text('text')} />;
    case 'clarification.requested':
      return <MarkdownPart name="Question" text={data.text('question')} />;
    case 'clarification.answered':
      return <Part name={`Answer, by ${data.text('by') ?? 'somebody'}`} text={data.text('answer')} />;
    case 'approval.requested':
      return <Value name={`Asks to run ${data.text('tool') ?? 'a tool'}`} text={data.text('arguments')} />;
    case 'approval.decided':
      return <Part name={decidedText(data)} text={data.text('reason') ?? 'No reason was given.'} />;
    case 'run.failed':
      return <Part name={data.text('code') ?? 'Reason'} text={data.text('message')} />;
    case 'process.started':
      return <Part name="Command" text={data.text('command')} />;
    case 'process.exited':
    case 'process.lost':
      return <Part name="Last output" text={withoutColours(data.text('output_tail') ?? '')} />;
    case 'delivery.failed':
    case 'delivery.dead':
    case 'delivery.dropped':
      return <Part name="Reason" text={data.text('reason')} />;
    case 'delivery.succeeded':
      return <Part name="Receipt of the platform" text={data.text('receipt')} />;
    default:
      return null;
  }
}

/** `Denied by telegram:1 (chat)` */
function decidedText(data: EventData): string {
  const done = data.text('decision') === 'approve' ? 'Approved' : 'Denied';
  const scope = data.text('scope') === 'session' ? ' for the session' : '';
  return `${done}${scope} by ${data.text('actor') ?? 'somebody'} (${data.text('way') ?? 'unknown way'})`;
}

function Part({ name, text }: { readonly name: string; readonly text: string | null }) {
  if (text === null || text === '') return null;
  return (
    <>
      <h4>{name}</h4>
      <LongText text={text} label={name} />
    </>
  );
}

function MarkdownPart({ name, text }: { readonly name: string; readonly text: string | null }) {
  if (text === null || text === '') return null;
  return (
    <>
      <h4>{name}</h4>
      <Markdown text={text} label={name} />
    </>
  );
}

/** JSON as a tree, anything else as text. */
function Value({ name, text }: { readonly name: string; readonly text: string | null }) {
  const value = text === null ? undefined : parsedJson(text);
  if (value === undefined) return <Part name={name} text={text} />;
  return (
    <>
      <h4>{name}</h4>
      <JsonView value={value} label={name} />
    </>
  );
}
