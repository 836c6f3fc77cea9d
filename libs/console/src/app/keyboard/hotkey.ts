/** What of a key event decides. */
export interface Pressed {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly defaultPrevented: boolean;
  readonly isComposing: boolean;
}

/** Where the key was pressed. */
export interface Place {
  /** In a field where the key is text. */
  readonly typing: boolean;
  /** On something that uses the key itself: Enter on a button. */
  readonly onControl: boolean;
}

/**
 * The name of the command key that was pressed: `j`, `/`, `?`, `enter`, `escape`, `mod+k`. Null: the key is text, belongs to the
 * focused control, or to the browser.
 */
export function hotkeyOf(pressed: Pressed, { typing, onControl }: Place, shortcuts: boolean): string | null {
  if (pressed.defaultPrevented || pressed.isComposing || pressed.altKey) return null;
  if (pressed.ctrlKey || pressed.metaKey) return pressed.key.toLowerCase() === 'k' ? 'mod+k' : null;
  if (typing) return null;
  if (pressed.key === 'Enter' || pressed.key === ' ')
    return onControl || !shortcuts ? null : pressed.key.toLowerCase();
  if (pressed.key.length > 1) return pressed.key.toLowerCase();
  return shortcuts ? pressed.key : null;
}
