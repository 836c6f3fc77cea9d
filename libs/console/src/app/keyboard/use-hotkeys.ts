import { useEffect, useEffectEvent } from 'react';
import { preferences } from '../preferences/preferences.ts';
import { hotkeyOf } from './hotkey.ts';

/** By the name of the key (hotkey.ts). Returning false leaves the key to others. */
export type Hotkeys = Readonly<Record<string, () => unknown>>;

const FIELDS =
  'input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], .code-editor';
const CONTROLS = 'a[href], button, summary, [role=option], [role=tab], [role=menuitem]';

/** Commands of the page. None acts while a modal dialog is open. */
export function useHotkeys(hotkeys: Hotkeys): void {
  const press = useEffectEvent((event: KeyboardEvent) => {
    const target = event.target instanceof Element ? event.target : null;
    if (document.querySelector('dialog[open]') !== null) return;
    const place = {
      typing: target?.closest(FIELDS) != null,
      onControl: target?.closest(CONTROLS) != null,
    };
    const name = hotkeyOf(event, place, preferences().shortcuts);
    const command = name === null ? undefined : hotkeys[name];
    if (command === undefined || command() === false) return;
    event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => press(event);
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, []);
}
