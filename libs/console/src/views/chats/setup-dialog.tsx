import { type ChatSetup, setUpChat } from '../../api/calls/chat-calls.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Confirm } from '../../parts/dialog/confirm.tsx';
import { Dialog } from '../../parts/dialog/dialog.tsx';
import { Command } from '../../parts/feedback/states.tsx';
import { Untrusted } from '../../parts/text/text.tsx';

/** Registers commands and the webhook at the platform. */
export function SetupDialog(props: {
  readonly chat: string;
  readonly platform: string;
  readonly onDone: (result: ChatSetup) => void;
  readonly onClose: () => void;
}) {
  return (
    <Confirm
      title={`Set up ${props.chat} at ${props.platform}`}
      act="Set up"
      run={async () => props.onDone(await setUpChat(props.chat))}
      onClose={props.onClose}
    >
      <p>
        Registers the commands of the bot and, if the chat takes one, the webhook. Do it again after you have
        changed <code>public_url</code> or <code>receive</code>.
      </p>
    </Confirm>
  );
}

/** What was done, and what a person has to do at the platform. */
export function SetupResult(props: {
  readonly title: string;
  readonly result: ChatSetup;
  readonly onClose: () => void;
}) {
  const { done, todo, paste } = props.result;
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      actions={
        <Button kind="main" onClick={props.onClose}>
          Done
        </Button>
      }
    >
      <Lines title="What was done" lines={done} />
      <Lines title="What you have to do there" lines={todo} />
      {paste !== null && (
        <>
          <p>
            <Untrusted text={paste.what} />
          </p>
          <Command text={paste.text} />
        </>
      )}
    </Dialog>
  );
}

function Lines({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <section className="stack">
      <h3>{title}</h3>
      <ul>
        {lines.map((line) => (
          <li key={line}>
            <Untrusted text={line} />
          </li>
        ))}
      </ul>
    </section>
  );
}
