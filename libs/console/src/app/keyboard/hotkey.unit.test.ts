import { expect, it } from '@jest/globals';
import { hotkeyOf, type Pressed } from './hotkey.ts';

const key = (name: string, more: Partial<Pressed> = {}): Pressed => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  defaultPrevented: false,
  isComposing: false,
  ...more,
});
const free = { typing: false, onControl: false };

it('a key outside of fields is a command', () => {
  expect(['/', 'j', '?', 'x', 'Escape', 'Enter'].map((name) => hotkeyOf(key(name), free, true))).toEqual([
    ...['/', 'j', '?', 'x', 'escape', 'enter'],
  ]);
});

it('in a field a key is text, and the palette still opens', () => {
  const typing = { typing: true, onControl: false };
  expect(hotkeyOf(key('j'), typing, true)).toBeNull();
  expect(hotkeyOf(key('k', { ctrlKey: true }), typing, true)).toBe('mod+k');
  expect(hotkeyOf(key('K', { metaKey: true }), typing, false)).toBe('mod+k');
});

it('keys of the browser, of input methods and of other handlers are left alone', () => {
  expect(hotkeyOf(key('r', { ctrlKey: true }), free, true)).toBeNull();
  expect(hotkeyOf(key('j', { altKey: true }), free, true)).toBeNull();
  expect(hotkeyOf(key('j', { isComposing: true }), free, true)).toBeNull();
  expect(hotkeyOf(key('j', { defaultPrevented: true }), free, true)).toBeNull();
});

it('Enter on a button presses the button', () => {
  expect(hotkeyOf(key('Enter'), { typing: false, onControl: true }, true)).toBeNull();
});

it('single keys can be switched off', () => {
  expect(hotkeyOf(key('j'), free, false)).toBeNull();
  expect(hotkeyOf(key('Escape'), free, false)).toBe('escape');
});
