import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import {
  answerQuestion,
  cancelSession,
  eraseSession,
  resumeSession,
  type Session,
  sendMessage,
} from '../../../api/calls/session-calls.ts';
import { useSendKey } from '../../../api/use-send-key.ts';
import { useHotkeys } from '../../../app/keyboard/use-hotkeys.ts';
import { Button } from '../../../parts/controls/button.tsx';
import { Icon } from '../../../parts/controls/icon.tsx';
import { Confirm } from '../../../parts/dialog/confirm.tsx';
import { tell } from '../../../parts/feedback/toasts.tsx';
import { Markdown } from '../../../parts/markdown/markdown.tsx';
import { Untrusted } from '../../../parts/text/text.tsx';
import { EventData } from '../session-event.ts';
import { sessionKey, useEvents } from '../use-session.ts';

type Act = 'message' | 'cancel' | 'resume' | 'erase';

/** What can be done with a session now. */
export function SessionActions({ session }: { readonly session: Session }) {
  const [act, setAct] = useState<Act | null>(null);
  // The question that is being answered. By the time the answer is typed, another question or none may be open.
  const [question, setQuestion] = useState<string | null>(null);
  const { clarification } = session;
  const ended = session.status === 'ended';
  const settled = ended && session.deliveries.pending === 0;
  const close = () => setAct(null);
  useHotkeys({ r: () => (ended ? setAct('resume') : false) });
  return (
    <div className="session-actions">
      {clarification !== undefined && (
        <Button kind="main" onClick={() => setQuestion(clarification.id)}>
          <Icon name="inbox" /> Answer
        </Button>
      )}
      {session.approval !== undefined && (
        <Link className="button button-main" to="/inbox" search={{ approval: session.approval.id }}>
          <Icon name="inbox" /> Decide
        </Link>
      )}
      <Button onClick={() => setAct('message')}>
        <Icon name="message" /> Message
      </Button>
      {ended ? (
        <Button onClick={() => setAct('resume')}>
          <Icon name="retry" /> {session.outcome === 'succeeded' ? 'Resume' : 'Retry'}
        </Button>
      ) : (
        <Button onClick={() => setAct('cancel')}>
          <Icon name="stop" /> Cancel
        </Button>
      )}
      {settled && (
        <Button kind="quiet" onClick={() => setAct('erase')}>
          <Icon name="trash" /> Erase
        </Button>
      )}
      {question !== null && (
        <Answer session={session} clarificationId={question} onClose={() => setQuestion(null)} />
      )}
      {act === 'message' && <Message session={session} onClose={close} />}
      {act === 'resume' && <Resume session={session} onClose={close} />}
      {act === 'cancel' && <Cancel session={session} onClose={close} />}
      {act === 'erase' && <Erase session={session} onClose={close} />}
    </div>
  );
}

interface Props {
  readonly session: Session;
  readonly onClose: () => void;
}

/** Goes to the session that took a message: this one, or a continuation. */
function useGoTo(): (from: Session, id: string) => Promise<void> {
  const navigate = useNavigate();
  return async (from, id) => {
    if (id === from.id) return;
    tell(
      <>
        The session goes on in a{' '}
        <Link to="/sessions/$id" params={{ id }}>
          continuation
        </Link>
        .
      </>,
    );
    await navigate({ to: '/sessions/$id', params: { id } });
  };
}

function Answer({ session, clarificationId, onClose }: Props & { readonly clarificationId: string }) {
  const [text, setText] = useState('');
  const keyOf = useSendKey();
  const { data: events = [] } = useEvents(session.id);
  const asked = events.findLast(
    (event) =>
      event.type === 'clarification.requested' &&
      new EventData(event).text('clarification_id') === clarificationId,
  );
  const question = asked === undefined ? null : new EventData(asked).text('question');
  const given = (asked?.data as { choices?: unknown } | undefined)?.choices;
  const choices = Array.isArray(given) ? given.filter((choice) => typeof choice === 'string') : [];
  return (
    <Confirm
      title="Answer the question"
      act="Answer"
      disabled={text.trim() === ''}
      run={async () => {
        await answerQuestion(session.id, clarificationId, text, keyOf(text));
        tell('The answer is in the log. The session continues.');
      }}
      onClose={onClose}
    >
      {question !== null && <Markdown text={question} label="Question" />}
      {choices.length > 0 && (
        <fieldset className="choices">
          <legend className="hidden-text">Choices</legend>
          {choices.map((choice) => (
            <label key={choice} className="check">
              <input type="radio" name="choice" checked={text === choice} onChange={() => setText(choice)} />
              <Untrusted text={choice} />
            </label>
          ))}
        </fieldset>
      )}
      <TextField label="Your answer" value={text} onChange={setText} />
    </Confirm>
  );
}

function Message({ session, onClose }: Props) {
  const [text, setText] = useState('');
  const keyOf = useSendKey();
  const goTo = useGoTo();
  const asks = session.clarification !== undefined;
  return (
    <Confirm
      title="Send a message to the agent"
      act="Send"
      disabled={text.trim() === ''}
      run={async () => {
        const { session_id } = await sendMessage(session.id, text, asks, keyOf(`${asks} ${text}`));
        tell('The message is in the log.');
        await goTo(session, session_id);
      }}
      onClose={onClose}
    >
      <p className="muted">
        {session.status === 'ended'
          ? 'The session has ended. The message opens a continuation with the conversation so far.'
          : asks
            ? 'The open question is closed, and the turn that asked it is cancelled. To answer it, use Answer.'
            : 'The agent takes it as its next turn.'}
      </p>
      <TextField label="Message" value={text} onChange={setText} />
    </Confirm>
  );
}

function Resume({ session, onClose }: Props) {
  const keyOf = useSendKey();
  const goTo = useGoTo();
  return (
    <Confirm
      title="Continue this session?"
      act={session.outcome === 'succeeded' ? 'Resume' : 'Retry'}
      run={async () => goTo(session, (await resumeSession(session.id, keyOf(''))).session_id)}
      onClose={onClose}
    >
      <p>
        A continuation starts with the conversation so far. This session stays as it is. What its tools did is
        not undone.
      </p>
    </Confirm>
  );
}

function Cancel({ session, onClose }: Props) {
  return (
    <Confirm
      title="Cancel this session?"
      act="Cancel the session"
      danger
      run={async () => {
        await cancelSession(session.id);
        tell('The session is cancelled.');
      }}
      onClose={onClose}
    >
      <p>The model call and the tools stop, and the session ends as cancelled.</p>
    </Confirm>
  );
}

function Erase({ session, onClose }: Props) {
  const [sure, setSure] = useState(false);
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <Confirm
      title="Erase this session?"
      act="Erase for ever"
      danger
      disabled={!sure}
      run={async () => {
        await eraseSession(session.id);
        tell(`Session ${session.id} is erased.`);
        await navigate({ to: '/sessions' });
        queries.removeQueries({ queryKey: sessionKey(session.id) });
      }}
      onClose={onClose}
    >
      <p>
        Every event and row of it is deleted. Nothing can bring it back. A continuation keeps its own copy.
      </p>
      <label className="check">
        <input type="checkbox" checked={sure} onChange={(event) => setSure(event.target.checked)} />I want to
        delete it
      </label>
    </Confirm>
  );
}

function TextField(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}) {
  return (
    <label className="text-field">
      {props.label}
      <textarea
        className="field"
        rows={4}
        value={props.value}
        onChange={(event) => props.onChange(event.target.value)}
      />
    </label>
  );
}
