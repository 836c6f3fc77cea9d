import { Button } from '../../parts/controls/button.tsx';
import { CopyButton } from '../../parts/controls/copy-button.tsx';
import { Dialog } from '../../parts/dialog/dialog.tsx';
import { ScrollBox } from '../../parts/text/scroll-box.tsx';

/** A secret that the gateway made. It is in no query and no address: when this is closed, it is gone. */
export function SecretDialog({
  name,
  secret,
  onClose,
}: {
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      title={`The secret of ${name}`}
      onClose={onClose}
      stays
      actions={
        <Button kind="main" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <p>Give it to the sender now. It is shown only once.</p>
      <div className="command">
        <ScrollBox label="Secret">{secret}</ScrollBox>
        <CopyButton text={secret} of="the secret" />
      </div>
    </Dialog>
  );
}
