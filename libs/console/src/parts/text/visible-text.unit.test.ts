import { expect, it } from '@jest/globals';
import { beginning, bytesText, countText, visibleText, withoutColours } from './visible-text.ts';

it('characters that change the direction of text, or that nobody sees, are shown by their number', () => {
  expect(visibleText('invoice\u202egpj.exe')).toBe('invoice⟨U+202E⟩gpj.exe');
  expect(visibleText('a\u0000b\u200bc\u2066d\u2028e')).toBe('a⟨U+0000⟩b⟨U+200B⟩c⟨U+2066⟩d⟨U+2028⟩e');
});

it('tags and fillers, which hide a text in another one, are shown, too', () => {
  expect(visibleText('ok\u{e0072}\u{e006d}\u3164')).toBe('ok⟨U+E0072⟩⟨U+E006D⟩⟨U+3164⟩');
  const flag = '🏴\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}';
  expect(visibleText(flag)).toBe(flag);
});

it('output of a command loses its colours, and nothing else', () => {
  expect(withoutColours('\u001b[1;31mred\u001b[0m \u001b[38:5:9mx\u001b[m')).toBe('red x');
  expect(withoutColours('\u001b[2J[31m')).toBe('\u001b[2J[31m');
});

it('text of any script, emoji, tabs and line breaks stay as they are', () => {
  const text = 'שלום عربى 日本語 👩‍👩‍👧 \t a\r\nb';
  expect(visibleText(text)).toBe(text);
});

it('a cut text ends between two characters', () => {
  expect(beginning('ab😀', 3)).toBe('ab');
  expect(beginning('ab😀', 4)).toBe('ab😀');
});

it('counts and sizes are short', () => {
  expect([bytesText(512), bytesText(1_234), bytesText(1_000_000)]).toEqual(['512 bytes', '1.2 kB', '1.0 MB']);
  expect([countText(1_204), countText(104_200), countText(2_500_000)]).toEqual(['1,204', '104.2 k', '2.5 M']);
});
