import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useId, useRef, useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import type { OpenQuestion } from '../../api/calls/question-calls.ts';
import { answerQuestion } from '../../api/calls/session-calls.ts';
import { useSendKey } from '../../api/use-send-key.ts';
import { Button } from '../../parts/controls/button.tsx';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Failed } from '../../parts/feedback/states.tsx';
import { tell } from '../../parts/feedback/toasts.tsx';
import { Markdown } from '../../parts/markdown/markdown.tsx';
import { Untrusted } from '../../parts/text/text.tsx';
import { Time } from '../../parts/time/time.tsx';
import { questionKey } from './question-key.ts';

interface Props {
  readonly question: OpenQuestion;
  /** The address names this one. */
  readonly meant: boolean;
  /** It was answered, here or elsewhere. */
  readonly onClosed: () => void;
}

/** One question, answered in place. */
export function QuestionCard({ question, meant, onClosed }: Props) {
  const [text, setText] = useState('');
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const keyOf = useSendKey();
  const card = useRef<HTMLLIElement>(null);
  const id = useId();
  useEffect(() => {
    if (meant) card.current?.scrollIntoView({ block: 'center' });
  }, [meant]);

  const send = async (answer: string) => {
    setSending(true);
    setError(null);
    try {
      await answerQuestion(question.session_id, question.clarification_id, answer, keyOf(answer));
      tell('Answered. The session continues.');
      onClosed();
    } catch (refused) {
      setError(refused);
      setSending(false);
      // It stays on the page until the next change, so that the reason can be read.
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') void send(text);
  };
  const closed = error instanceof ApiError && error.status === 409;
  return (
    <li
      ref={card}
      className={`panel question ${meant ? 'question-meant' : ''}`}
      data-row={questionKey(question)}
    >
      <header className="question-head">
        <h2>
          <Link to="/sessions/$id" params={{ id: question.session_id }} id={`${id}-title`} data-row-focus>
            <Untrusted text={question.title} />
          </Link>
        </h2>
        <span className="tag">{question.route}</span>
        <span className="muted">
          asked <Time at={question.asked_at} />
        </span>
        <span className="end">
          <CopyButton
            text={`${location.origin}/console/inbox?question=${encodeURIComponent(questionKey(question))}`}
            of="the address of this question"
          />
        </span>
      </header>
      <Markdown text={question.question} label="Question" />
      <form className="question-answer" onSubmit={submit} aria-labelledby={`${id}-title`}>
        {question.choices.length > 0 && (
          <fieldset className="question-choices" disabled={sending || closed}>
            <legend className="hidden-text">Choices</legend>
            {question.choices.map((choice) => (
              <Button key={choice} onClick={() => void send(choice)}>
                <Untrusted text={choice} />
              </Button>
            ))}
          </fieldset>
        )}
        <label htmlFor={`${id}-text`}>{question.choices.length > 0 ? 'Or another answer' : 'Answer'}</label>
        <textarea
          id={`${id}-text`}
          className="field"
          rows={2}
          value={text}
          disabled={closed}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event);
          }}
        />
        <div className="question-foot">
          <Button kind="main" submits busy={sending} disabled={text.trim() === '' || closed}>
            Send the answer
          </Button>
          <span className="muted">
            If nobody answers, the session{' '}
            {question.on_timeout === 'end' ? 'ends' : 'goes on without an answer'}{' '}
            <Time at={question.deadline} />
          </span>
        </div>
        {error !== null && <Failed error={error} {...(closed ? { retry: onClosed } : {})} />}
      </form>
    </li>
  );
}
