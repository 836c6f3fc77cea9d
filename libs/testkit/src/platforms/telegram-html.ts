/** Thrown with Telegram's own message: `can't parse entities: ...`. */
export class CannotParse extends Error {}

const TAGS: ReadonlySet<string> = new Set([
  'b',
  'strong',
  'i',
  'em',
  'u',
  'ins',
  's',
  'strike',
  'del',
  'a',
  'code',
  'pre',
  'blockquote',
  'tg-spoiler',
]);
const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

/**
 * What Telegram shows of a message with parse_mode HTML (https://core.telegram.org/bots/api#html-style). It is as strict as
 * Telegram: only the documented tags, closed in order; only the four named entities; nothing inside code; code inside
 * nothing but a quote; no quote inside a quote.
 */
export function shownByTelegram(html: string): string {
  let shown = '';
  const open: string[] = [];
  const fail = (why: string, at: number): never => {
    throw new CannotParse(
      `can't parse entities: ${why} at byte offset ${Buffer.byteLength(html.slice(0, at))}`,
    );
  };
  for (let at = 0; at < html.length; ) {
    const character = html[at];
    if (character === '&') {
      const [whole, name, decimal, hex] =
        /^&(?:([a-z]+)|#(\d+)|#x([0-9a-f]+));/i.exec(html.slice(at, at + 12)) ?? [];
      if (whole === undefined) fail('Unescaped character "&"', at);
      if (name !== undefined && NAMED[name] === undefined) fail(`Unsupported entity "${name}"`, at);
      shown +=
        name === undefined
          ? String.fromCodePoint(Number.parseInt(decimal ?? hex ?? '', decimal ? 10 : 16))
          : NAMED[name];
      at += (whole ?? '').length;
    } else if (character === '<') {
      const [whole, end, name = '', attributes = ''] =
        /^<(\/?)([a-z][a-z-]*)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)>/.exec(html.slice(at, at + 8_192)) ?? [];
      if (whole === undefined) fail('Unexpected character "<"', at);
      if (!TAGS.has(name)) fail(`Unsupported start tag "${name}"`, at);
      if (end === '/') {
        if (open.pop() !== name) fail(`Unmatched end tag "${name}"`, at);
      } else {
        const within = open.at(-1);
        const isLanguage =
          name === 'code' && within === 'pre' && /^ class="language-[^"]+"$/.test(attributes);
        if ((open.includes('code') || open.includes('pre')) && !isLanguage)
          fail(`Tag "${name}" inside code`, at);
        if ((name === 'code' || name === 'pre') && !isLanguage && open.some((tag) => tag !== 'blockquote'))
          fail(`Code inside "${within}"`, at);
        if (name === 'blockquote' && open.includes('blockquote')) fail('Nested blockquote', at);
        if (name === 'a' && !/^ href="[^"]+"$/.test(attributes)) fail('Link without address', at);
        if (attributes !== '' && name !== 'a' && !isLanguage) fail(`Unexpected attributes of "${name}"`, at);
        open.push(name);
      }
      at += (whole ?? '').length;
    } else {
      if (character === '>') fail('Unescaped character ">"', at);
      shown += character;
      at += 1;
    }
  }
  if (open.length > 0) fail(`Can't find end tag corresponding to start tag "${open.at(-1)}"`, html.length);
  return shown;
}
