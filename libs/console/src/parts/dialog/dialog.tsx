import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { Icon } from '../controls/icon.tsx';

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Buttons, in a row at the end. */
  readonly actions?: ReactNode;
  readonly wide?: boolean;
  /** The title is read out, not shown. */
  readonly bare?: boolean;
  /** A click outside does not close it, because its content cannot be shown again. */
  readonly stays?: boolean;
}

/** The browser's own modal dialog: it keeps the focus inside, gives it back afterwards, and Escape closes it. */
export function Dialog(props: Props) {
  const { title, onClose, children, actions, wide = false, bare = false, stays = false } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  /** Selecting text beyond the edge also ends as a click on the dialog. Such a click begins inside. */
  const pressedBeside = useRef(false);
  const heading = useId();
  // A layout effect: the browser gives the focus back only if the dialog is closed before it is taken out of the page.
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown !== null && !shown.open) {
      shown.showModal();
      // Not on "Close", which is first, if there is something to fill in.
      shown.querySelector<HTMLElement>(':is(input, textarea, select):enabled')?.focus();
    }
    return () => shown?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same.
    <dialog
      ref={dialog}
      className={`dialog ${wide ? 'dialog-wide' : ''} ${bare ? 'dialog-bare' : ''}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        pressedBeside.current = event.target === dialog.current;
      }}
      onClick={(event) => {
        if (!stays && pressedBeside.current && event.target === dialog.current) onClose();
      }}
    >
      <div className="dialog-content">
        <header className={bare ? 'hidden-text' : 'dialog-header'}>
          <h2 id={heading}>{title}</h2>
          {!bare && (
            <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
              <Icon name="close" />
            </button>
          )}
        </header>
        {children}
        {actions !== undefined && <footer className="dialog-actions">{actions}</footer>}
      </div>
    </dialog>
  );
}
