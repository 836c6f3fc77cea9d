import { Fragment, useMemo, useRef, useState } from 'react';
import type { Session } from '../../../api/calls/session-calls.ts';
import type { Schema } from '../../../api/client.ts';
import { useRowKeys } from '../../../app/keyboard/use-row-keys.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { Details } from '../../../parts/controls/details.tsx';
import { Badge } from '../../../parts/feedback/badge.tsx';
import { Empty, Failed, Loading } from '../../../parts/feedback/states.tsx';
import { JsonView } from '../../../parts/json/json-view.tsx';
import { parsedJson } from '../../../parts/json/parsed-json.ts';
import { Markdown } from '../../../parts/markdown/markdown.tsx';
import { LongText, Untrusted } from '../../../parts/text/text.tsx';
import { visibleText } from '../../../parts/text/visible-text.ts';
import { callText } from '../call-text.ts';
import { useEvents, useTranscript } from '../use-session.ts';
import { type ApprovalState, approvalStates } from './approval-states.ts';

type Message = Schema['Message'];

/** The newest messages come first into the page; a conversation can have thousands. */
const PAGE = 100;

/** The conversation as the model sees it. */
export function TranscriptTab({ session }: { readonly session: Session }) {
  const { data: messages, error, refetch } = useTranscript(session.id);
  const { data: events } = useEvents(session.id);
  const [most, setMost] = useState(PAGE);
  const list = useRef<HTMLOListElement>(null);
  useRowKeys(list);
  const results = useMemo(
    () =>
      new Map(
        (messages ?? []).flatMap((message) =>
          message.tool_call_id === undefined ? [] : [[message.tool_call_id, message.content] as const],
        ),
      ),
    [messages],
  );
  const approvals = useMemo(() => approvalStates(events ?? []), [events]);
  if (messages === undefined)
    return error === null ? (
      <Loading what="the transcript" />
    ) : (
      <Failed error={error} retry={() => void refetch()} />
    );
  const spoken = messages
    .map((message, index) => ({ message, index }))
    .filter(({ message }) => message.role !== 'tool');
  if (spoken.length === 0) return <Empty title="Nothing was said yet" />;
  const hidden = Math.max(0, spoken.length - most);
  return (
    <div className="transcript">
      {hidden > 0 && (
        <Button onClick={() => setMost(most + PAGE)}>Show {Math.min(PAGE, hidden)} earlier messages</Button>
      )}
      <ol ref={list}>
        {spoken.slice(hidden).map(({ message, index }) => (
          <li
            key={index}
            className={`message message-${message.role}`}
            data-row={index}
            data-row-focus
            tabIndex={-1}
          >
            <Said message={message} results={results} approvals={approvals} />
          </li>
        ))}
      </ol>
    </div>
  );
}

const SPEAKERS = { user: 'Input', assistant: 'Agent', tool: 'Tool' } as const;

function Said({
  message,
  results,
  approvals,
}: {
  readonly message: Message;
  readonly results: ReadonlyMap<string, string>;
  readonly approvals: ReadonlyMap<string, ApprovalState>;
}) {
  return (
    <>
      <h2>
        {SPEAKERS[message.role]}
        {message.turn !== undefined && <span className="muted"> · turn {message.turn}</span>}
        {message.silent === true && <span className="tag">not delivered</span>}
      </h2>
      {message.content !== '' &&
        (message.role === 'assistant' ? (
          <Markdown text={message.content} label="What the agent said" />
        ) : (
          <LongText text={message.content} label="Input" />
        ))}
      {message.tool_calls?.map((call) => (
        <Fragment key={call.id}>
          <ToolCall call={call} result={results.get(call.id)} approval={approvals.get(call.id)} />
        </Fragment>
      ))}
    </>
  );
}

function ToolCall(props: {
  readonly call: NonNullable<Message['tool_calls']>[number];
  readonly result: string | undefined;
  readonly approval: ApprovalState | undefined;
}) {
  const { call, result, approval } = props;
  return (
    <Details
      className="tool-call"
      summary={
        <>
          <code>{visibleText(call.name)}</code>{' '}
          <bdi className="muted cut">{visibleText(callText(call.arguments))}</bdi>
          {approval !== undefined && (
            <Badge tone={approval.tone}>
              <Untrusted text={approval.text} />
            </Badge>
          )}
        </>
      }
    >
      {() => (
        <>
          <h3>Arguments</h3>
          <TextOrJson text={call.arguments} label="Arguments" />
          <h3>Result</h3>
          {result === undefined ? (
            <p className="muted">None yet</p>
          ) : (
            <TextOrJson text={result} label="Result" />
          )}
        </>
      )}
    </Details>
  );
}

function TextOrJson({ text, label }: { readonly text: string; readonly label: string }) {
  const value = useMemo(() => parsedJson(text), [text]);
  return value === undefined ? (
    <LongText text={text} label={label} />
  ) : (
    <JsonView value={value} label={label} />
  );
}
