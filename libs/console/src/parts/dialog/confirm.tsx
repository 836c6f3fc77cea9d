import { type ReactNode, useState } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { Button } from '../controls/button.tsx';
import { Dialog } from './dialog.tsx';

interface Props {
  readonly title: string;
  readonly children: ReactNode;
  /** What the button says: the act itself, not "OK". */
  readonly act: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly run: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before an act. It stays open while the act is under way, and shows why it was refused. */
export function Confirm({ title, children, act, danger = false, disabled = false, run, onClose }: Props) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await run();
      onClose();
    } catch (refused) {
      setError(messageOf(refused));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button
            kind={danger ? 'danger' : 'main'}
            busy={busy}
            disabled={disabled}
            onClick={() => void confirm()}
          >
            {act}
          </Button>
        </>
      }
    >
      {children}
      {error !== null && (
        <p className="form-error" role="alert">
          {error}
        </p>
      )}
    </Dialog>
  );
}
