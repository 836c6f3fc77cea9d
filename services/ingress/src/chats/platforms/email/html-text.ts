/**
 * The text of a mail that has only HTML. Nothing is rendered, so this knows blocks, breaks, quotations and entities. It always
 * reads the source once, from beginning to end.
 */

/** A mail that people write is shorter. A longer one is cut. */
const MOST_HTML = 512 * 1024;
const WITHOUT_TEXT = new Set(['style', 'script', 'head', 'title', 'template', 'noscript', 'svg']);
const BLOCKS = new Set(
  'p div li ul ol tr table blockquote pre section article header footer hr h1 h2 h3 h4 h5 h6'.split(' '),
);

export function htmlToText(whole: string): string {
  const html = whole.slice(0, MOST_HTML);
  // Of the same length, unlike toLowerCase of some letters.
  const lower = html.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const lines: string[] = [''];
  /** How deep in quotations each line begins. */
  const depths: number[] = [0];
  let depth = 0;
  const newLine = () => {
    if (lines.at(-1) === '') depths[depths.length - 1] = depth;
    else {
      lines.push('');
      depths.push(depth);
    }
  };
  const say = (text: string) => {
    const words = decoded(text).replaceAll(/[\s\u00a0]+/g, ' ');
    const line = lines.at(-1) ?? '';
    lines[lines.length - 1] = line + (line === '' || line.endsWith(' ') ? words.trimStart() : words);
  };
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at);
    if (open === -1) {
      say(html.slice(at));
      break;
    }
    if (open > at) say(html.slice(at, open));
    if (html.startsWith('<!--', open)) {
      at = after(lower, '-->', open);
      continue;
    }
    const close = html.indexOf('>', open);
    const [, slash = '', given = ''] =
      /^<(\/?)([a-z][a-z0-9]{0,15})/i.exec(html.slice(open, open + 20)) ?? [];
    const name = given.toLowerCase();
    if (close === -1) break;
    at = close + 1;
    if (slash === '' && WITHOUT_TEXT.has(name)) at = after(lower, `</${name}`, at);
    else if (name === 'blockquote') {
      depth = Math.max(0, depth + (slash === '' ? 1 : -1));
      newLine();
    } else if (name === 'br') {
      lines.push('');
      depths.push(depth);
    } else if (BLOCKS.has(name)) newLine();
    if (name === 'li' && slash === '') say('- ');
    if (name === 'td' || name === 'th') say(' ');
  }
  return lines
    .map((line, index) => `${'> '.repeat(Math.min(depths[index] ?? 0, 5))}${line.trimEnd()}`)
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** Behind the end of something; the end of the source if it has none. */
function after(html: string, end: string, from: number): number {
  const found = html.indexOf(end, from);
  if (found === -1) return html.length;
  const close = html.indexOf('>', found + end.length - 1);
  return close === -1 ? html.length : close + 1;
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  euro: '€',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  ccedil: 'ç',
};

function decoded(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,8}));/gi, (whole, dec, hex, name) => {
    if (name !== undefined) return NAMED[name as string] ?? whole;
    const code = dec === undefined ? Number.parseInt(hex as string, 16) : Number(dec);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
      ? String.fromCodePoint(code)
      : '';
  });
}
