import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { makePairingCode, type PairingCode } from '../../api/calls/chat-calls.ts';
import { Button } from '../../parts/controls/button.tsx';
import { Dialog } from '../../parts/dialog/dialog.tsx';
import { Badge } from '../../parts/feedback/badge.tsx';
import { Command } from '../../parts/feedback/states.tsx';
import { Countdown } from '../../parts/time/time.tsx';
import { pairingsKey, usePairings } from './pairings.tsx';

interface Props {
  readonly chat: string;
  readonly onClose: () => void;
}

/** Makes a code. It is in no query and no address: when this is closed, it is gone. */
export function PairDialog({ chat, onClose }: Props) {
  const [made, setMade] = useState<PairingCode | null>(null);
  return made === null ? (
    <NameForm chat={chat} onMade={setMade} onClose={onClose} />
  ) : (
    <CodeToSend chat={chat} made={made} onClose={onClose} />
  );
}

function NameForm({ chat, onMade, onClose }: Props & { readonly onMade: (made: PairingCode) => void }) {
  const [name, setName] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const queries = useQueryClient();
  const id = useId();
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const made = await makePairingCode(chat, name.trim());
      void queries.invalidateQueries({ queryKey: pairingsKey(chat) });
      onMade(made);
    } catch (refused) {
      setError(messageOf(refused));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Let somebody in to ${chat}`} onClose={onClose}>
      <form className="stack" onSubmit={(event) => void make(event)}>
        <label htmlFor={id}>Name of the person or the group</label>
        <input
          id={id}
          className="field"
          autoFocus
          maxLength={40}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <p className="muted">In the log, it is part of the actor of what they do.</p>
        {error !== null && (
          <p className="form-error" role="alert">
            {error}
          </p>
        )}
        <footer className="dialog-actions">
          <Button onClick={onClose}>Leave it</Button>
          <Button kind="main" submits busy={busy} disabled={name.trim() === ''}>
            Make a code
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

function CodeToSend({ chat, made, onClose }: Props & { readonly made: PairingCode }) {
  const { data } = usePairings(chat);
  const accepted = data?.find(({ id }) => id === made.id)?.accepted ?? null;
  return (
    <Dialog
      title={`A code for ${made.name}`}
      onClose={onClose}
      stays
      actions={
        <Button kind="main" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p>
        Send this line to the bot. In a conversation with the bot it lets in whoever sends it, in a group
        everybody there. It works once, and is shown this once.
      </p>
      <Command text={`/pair ${made.code}`} />
      <p role="status">
        {accepted === null ? (
          <>
            <Badge tone="wait">not used yet</Badge>{' '}
            <span className="muted">
              expires <Countdown until={Date.parse(made.expires_at)} />
            </span>
          </>
        ) : (
          <Badge tone="ok">
            {made.name}{' '}
            {accepted.kind === 'user' ? 'may speak now' : 'and everybody in the group may speak now'}
          </Badge>
        )}
      </p>
    </Dialog>
  );
}
