import { shownByTelegram } from '@angelia/testkit';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DUPLICATE_MARK } from './cut/chunk.ts';
import { cutMarkdown } from './cut/cut-markdown.ts';
import { chunksWithoutMentions } from './cut/neutralize-mentions.ts';
import { limitOutput, MAX_CHARACTERS, MAX_MESSAGES } from './cut/output-limit.ts';
import { renderChunks } from './cut/render-chunks.ts';
import { discordMarkdown } from './markup/discord-markdown.ts';
import { writePlain } from './markup/line-layout.ts';
import { type Markup, utf8Bytes, utf16Units } from './markup/markup.ts';
import { richHtml } from './markup/rich-html.ts';
import { slackMrkdwn } from './markup/slack-mrkdwn.ts';
import { telegramHtml } from './markup/telegram-html.ts';
import { textOf } from './read/document.ts';
import { sectionsOf } from './read/parse-sections.ts';

const plainText: Markup = { block: (block) => writePlain(block, (text) => text) };

/** Markdown as written, limited and cut as chunksWithoutMentions does. */
const cutSource = (source: string, limit: number) => cutMarkdown(limitOutput(source), limit);

const MARKUPS: readonly [string, Markup][] = [
  ['Telegram HTML', telegramHtml],
  ['Slack mrkdwn', slackMrkdwn],
  ['Discord Markdown', discordMarkdown],
  ['plain text', plainText],
];

const write = (source: string, markup: Markup): string => {
  const chunks = renderChunks(source, markup, { limit: 100_000, measure: utf16Units });
  expect(chunks).toHaveLength(1);
  return chunks[0]?.text ?? '';
};

describe('what Markdown becomes', () => {
  it.each([
    [
      '**b** *i* ~~s~~ `c`',
      '<b>b</b> <i>i</i> <s>s</s> <code>c</code>',
      '*b* _i_ ~s~ `c`',
      '**b** *i* ~~s~~ `c`',
    ],
    ['**a *b* c**', '<b>a <i>b</i> c</b>', '*a _b_ c*', '**a *b* c**'],
    ['a < b & c > d', 'a &lt; b &amp; c &gt; d', 'a &lt; b &amp; c &gt; d', 'a < b & c > d'],
    ['# Head', '<b>Head</b>', '*Head*', '# Head'],
    ['##### Deep', '<b>Deep</b>', '*Deep*', '**Deep**'],
    ['- a\n- b\n  - c', '• a\n• b\n  • c', '• a\n• b\n  • c', '- a\n- b\n  - c'],
    ['3. a\n4. b', '3. a\n4. b', '3. a\n4. b', '3. a\n4. b'],
    ['> q\n> r', '<blockquote>q\nr</blockquote>', '> q\n> r', '> q\n> r'],
    [
      '```ts\nx < "1"\n```',
      '<pre><code class="language-ts">x &lt; &quot;1&quot;</code></pre>',
      '```\nx &lt; "1"\n```',
      '```ts\nx < "1"\n```',
    ],
    [
      '[t](https://e.org/a_(b)?x=1&y=2)',
      '<a href="https://e.org/a_(b)?x=1&amp;y=2">t</a>',
      '<https://e.org/a_(b)?x=1&amp;y=2|t>',
      '[t](https://e.org/a_%28b%29?x=1&y=2)',
    ],
    ['https://e.org/a_b_c', 'https://e.org/a_b_c', '<https://e.org/a_b_c>', 'https://e.org/a_b_c'],
    [
      '![alt](https://e.org/i.png)',
      '<a href="https://e.org/i.png">alt</a>',
      '<https://e.org/i.png|alt>',
      '[alt](https://e.org/i.png)',
    ],
    ['<b>raw</b>', '&lt;b&gt;raw&lt;/b&gt;', '&lt;b&gt;raw&lt;/b&gt;', '<b>raw</b>'],
    ['a_b_c and __init__.py', 'a_b_c and <b>init</b>.py', 'a_b_c and *init*.py', 'a_b_c and **init**.py'],
  ])('%j', (source, telegram, slack, discord) => {
    expect(write(source, telegramHtml)).toBe(telegram);
    expect(write(source, slackMrkdwn)).toBe(slack);
    expect(write(source, discordMarkdown)).toBe(discord);
  });

  it('a table becomes columns in a fixed-width font', () => {
    expect(write('| a | long |\n|---|---|\n| [x](https://e.org) | y |', discordMarkdown)).toBe(
      '```\na                 | long\n------------------|-----\nx (https://e.org) | y\n```',
    );
  });

  it('a table whose columns would be mostly blanks is not aligned: it would be thousands of messages', () => {
    const long = `|${'x'.repeat(5_000)}|b|\n|-|-|\n${'|a|b|\n'.repeat(1_000)}`;
    const wide = `|${'a|'.repeat(2_000)}\n|${'-|'.repeat(2_000)}\n${'|x|\n'.repeat(900)}`;
    for (const table of [long, wide]) {
      const chunks = renderChunks(table, telegramHtml, { limit: 4_096, measure: utf16Units });
      expect(chunks.length).toBeLessThan(8);
      const shown = chunks.map(({ text }) => shownByTelegram(withoutNumber(text))).join('');
      expect(shown.replaceAll(/[^abx]/g, '')).toBe(table.replaceAll(/[^abx]/g, ''));
    }
  });

  it('signs that Markdown escaped stay signs', () => {
    expect(write('\\*a\\* \\`b\\` \\[x\\](y)', discordMarkdown)).toBe('\\*a\\* \\`b\\` [x\\](y)');
  });

  it('a definition is shown where it is used, otherwise where it is written', () => {
    expect(write('[a][x]\n\n[x]: https://e.org\n[y]: https://f.org', plainText)).toBe(
      'a (https://e.org)\n\n[y]: https://f.org',
    );
  });

  it('for Slack, a style ends with its line and is left out inside a word', () => {
    expect(write('**a\nb** c**d**e', slackMrkdwn)).toBe('*a*\n*b* cde');
    expect(write('`` a`b `` [x|y](https://e.org/a|b)', slackMrkdwn)).toBe('a`b <https://e.org/a%7Cb|x¦y>');
  });

  it('for Discord, a line that only looks like a heading or a quote is escaped', () => {
    expect(write('\\# a\n-# b\n\\> c', discordMarkdown)).toBe('\\# a\n\\-# b\n\\> c');
  });

  it('a link over two lines stays one link', () => {
    for (const markup of [telegramHtml, slackMrkdwn, discordMarkdown]) {
      expect(write('[a\nb](https://e.org)', markup)).toContain('a b');
    }
  });

  it('a backtick fence inside code does not end the block', () => {
    for (const markup of [slackMrkdwn, discordMarkdown]) {
      expect(write('````\n```\nx\n```\n````', markup).split('```')).toHaveLength(3);
    }
  });

  it('a text without anything visible becomes a notice, not an empty message', () => {
    expect(write(' \n\u200b\n', telegramHtml)).toBe('(empty message)');
    expect(write('```\n```', telegramHtml)).toBe('(empty message)');
  });

  it('an address that could ping, run or lead into the app is text and not a link', () => {
    for (const address of [
      'tg://user?id=1',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
    ]) {
      const telegram = write(`[here](${address})`, telegramHtml);
      expect(telegram).not.toContain('<a ');
      expect(telegram).toContain(address.replace('&', '&amp;'));
      expect(write(`[here](${address})`, slackMrkdwn)).toBe(`here (${address})`);
      expect(write(`[here](${address})`, discordMarkdown)).toBe(`here (${address})`);
    }
  });

  it('a text that is nested too deep is not parsed, however short it is', () => {
    for (const text of ['- '.repeat(2_000), '> '.repeat(2_000), `${'*'.repeat(900)}a${'*'.repeat(900)}`]) {
      expect(sectionsOf(text)).toEqual([{ text, parse: false }]);
    }
    const usual = '> > - **a** ~~b~~\n\n__________\n\n***\n';
    expect(sectionsOf(usual)).toEqual([{ text: usual, parse: true }]);
  });

  it('a text with too many style signs is parsed only up to the limit', () => {
    const part = `${'*a_'.repeat(1_300)}\n\n`;
    const sections = sectionsOf(part.repeat(30));
    expect(sections.map(({ text }) => text).join('')).toBe(part.repeat(30));
    expect(sections.filter(({ parse }) => parse).length).toBeLessThan(5);
    const usual = `${'Some **bold** and _slanted_ words. '.repeat(40)}\n\n`;
    expect(sectionsOf(usual.repeat(30)).every(({ parse }) => parse)).toBe(true);
  });

  it('a long text is cut into sections between blocks', () => {
    const part = `Some **bold** text.\n\n- a\n\n  b\n- c\n\n`;
    for (let more = 0; more < part.length; more += 1) {
      const text = `${'x'.repeat(more)}\n\n${part.repeat(250)}`;
      const sections = sectionsOf(text).map((section) => section.text);
      expect(sections.join('')).toBe(text);
      expect(sections.length).toBeGreaterThan(1);
      for (const section of sections.slice(1)) expect(section).toMatch(/^(Some|- a)/);
    }
  });

  it('a long text that is read in sections gives the same result', () => {
    const code = Array.from({ length: 300 }, (_, line) => `line ${line} of *code*`).join('\n');
    const part = `Some **bold** text.\n\n- a\n\n  b\n- c`;
    const times = (text: string) => Array(150).fill(text).join('\n\n');
    const [parts, written] = [times(part), times(write(part, telegramHtml))];
    expect(sectionsOf(parts).length).toBeGreaterThan(1);
    expect(write(`${parts}\n\n\`\`\`js\n${code}\n\`\`\`\n\n${parts}`, telegramHtml)).toBe(
      `${written}\n\n<pre><code class="language-js">${code}</code></pre>\n\n${written}`,
    );
  });
});

/** What costs a parser or a splitter the most: each of these, repeated. */
const EXPENSIVE: readonly (readonly [name: string, unit: string])[] = [
  ['setext headings', 'a\n=\n'],
  ['setext headings apart', 'a\n=\n\n'],
  ['headings', '# a\n'],
  ['brackets', '['],
  ['labels', '[a]'],
  ['links that do not end', '[a](b'],
  ['links', '[a](https://e.org) '],
  ['definitions', '[a]: b\n\n[a] '],
  ['footnotes', '[^a]: b\n\n'],
  ['images', '![a](b)'],
  ['styles', '*a_ '],
  ['styles in words', '_a'],
  ['styles apart', '*a_'.repeat(650).concat('\n\n')],
  ['stars', '*'],
  ['quotes', '>'],
  ['quoted lines', '> a\n'],
  ['quotes apart', '> a\n\n'],
  ['deep quotes', `${'> '.repeat(3_000)}a\n\n`],
  ['lists', '- '],
  ['list items', '- a\n'],
  ['list items apart', '- a\n\n'],
  ['rules', '***\n'],
  ['table rows', 'a|b\n-|-\n'],
  ['wide tables', `${'|'.repeat(2_000)}\n${'|-'.repeat(2_000)}\n\n`],
  ['code that does not end', '~~~ '],
  ['code blocks', '```\na\n```\n'],
  ['a fence that is none', '```a```\n'],
  ['backticks', '` '],
  ['tags', '<'],
  ['tags with names', '<b>\n'],
  ['entities', '&'],
  ['mentions', '@a '],
  ['empty lines', '\n'],
  ['short lines', 'a\n'],
  ['carriage returns', 'a\r'],
  ['blanks', ' '],
  ['a label with blanks', `[a${' '.repeat(11_000)}b](https://e.org)\n\n`],
  ['words', 'word '],
  ['one word', 'x'],
  ['families', '👨‍👩‍👧‍👦'],
  ['accents', '\u0301'],
  ['halves of pairs', '\ud83d'],
];
const filled = (unit: string, length: number): string =>
  unit.repeat(Math.ceil(length / unit.length)).slice(0, length);

describe.each(EXPENSIVE)('%s', (_name, unit) => {
  it('are written a limited number of times while they are cut, and lose no letter', () => {
    // Many small messages. Each unit stays whole, because it is what makes the parser slow.
    const text = filled(unit, Math.max(1_000, unit.length)).toWellFormed();
    let written = 0;
    const counting: Markup = {
      ...telegramHtml,
      block: (one) => {
        written += textOf(one).length;
        return telegramHtml.block(one);
      },
    };
    const chunks = renderChunks(text, counting, { limit: 60, measure: utf16Units });
    // Each character is written once per step of the search for the cut (5 for 60), and twice in the first messages:
    // 11 times. Writing the whole rest again for each message would make 35.
    expect(written).toBeLessThanOrEqual(20 * text.length);
    const isCut = chunks.at(-1)?.text.includes('... cut at ') === true;
    const sent = isCut ? chunks.slice(0, -1) : chunks;
    const shown = sent.map(({ text: html }) => letters(shownByTelegram(withoutNumber(html)))).join('');
    // The addresses of links and images are shown as well.
    if (/^!?\[.*\]/.test(unit)) return;
    const all = letters(text);
    expect(shown.replace(/^emptymessage$/, '')).toBe(isCut ? all.slice(0, shown.length) : all);
  });

  it('reach the parser in sections that it can handle, and within the total limit', () => {
    for (const length of [12_000, 120_000]) {
      const sections = sectionsOf(filled(unit, length));
      expect(sections.map(({ text }) => text).join('')).toBe(filled(unit, length));
      const parsed = sections.filter(({ parse }) => parse).map(({ text }) => text);
      expect(parsed.join('').length).toBeLessThanOrEqual(128 * 1024);
      const lines = (text: string) => text.split(/\r\n|[\n\r]/).length - 1;
      const prose = parsed.filter((text) => !/^(```|~~~)/.test(text));
      for (const text of prose) {
        expect(text.length).toBeLessThanOrEqual(12_000);
        expect(lines(text)).toBeLessThanOrEqual(600);
        expect(text.match(/[*_~]+/g)?.length ?? 0).toBeLessThanOrEqual(1_500);
      }
      expect(lines(prose.join(''))).toBeLessThanOrEqual(4_000);
      expect(lines(parsed.join(''))).toBeLessThanOrEqual(14_000);
    }
  });
});

describe('an output that is too long', () => {
  const text = (length: number) => filled('Some words, and more. ', length);
  const sendable: readonly (readonly [
    string,
    (source: string) => readonly { readonly text: string }[],
    number,
  ])[] = [
    [
      'telegram',
      (source) => renderChunks(source, telegramHtml, { limit: 4_096, measure: utf16Units }),
      4_096,
    ],
    [
      'discord',
      (source) => renderChunks(source, discordMarkdown, { limit: 2_000, measure: utf16Units }),
      2_000,
    ],
    [
      'mail',
      (source) => renderChunks(source, richHtml, { limit: Number.POSITIVE_INFINITY, measure: utf8Bytes }),
      200_000,
    ],
    ['github', (source) => chunksWithoutMentions(source, 65_000).map((chunk) => ({ text: chunk })), 65_000],
    ['mattermost', (source) => cutSource(source, 16_000).map((chunk) => ({ text: chunk })), 16_000],
  ];

  it.each(sendable)('is cut where 100,000 characters end, and says so: %s', (name, compose) => {
    const whole = compose(text(MAX_CHARACTERS - 1));
    if (name !== 'discord') expect(whole.map((chunk) => chunk.text).join('')).not.toContain('... cut');
    const chunks = compose(text(1_048_576));
    const reason = name === 'discord' ? '50 messages' : '100,000 characters';
    expect(withoutNumber(chunks.at(-1)?.text ?? '')).toMatch(
      new RegExp(`\\.\\.\\. cut at ${reason}: the whole text has 1,048,576 characters(</p>)?$`),
    );
    expect(
      chunks
        .slice(0, -1)
        .map((chunk) => chunk.text)
        .join(''),
    ).not.toContain('... cut');
  });

  it('has its notice outside the code that is cut', () => {
    const chunks = renderChunks(`\`\`\`js\n${text(200_000)}`, discordMarkdown, {
      limit: 4_000,
      measure: utf16Units,
    });
    expect(chunks.at(-1)?.text).toMatch(/\n```\n\n\.\.\. cut at 100,000 characters[^`]*$/);
    const [comment] = cutSource(`\`\`\`js\n${text(200_000)}`, 1_000_000);
    expect(comment).toMatch(/\n```\n\n\.\.\. cut at 100,000 characters[^`]*$/);
  });

  it('is cut between characters', () => {
    const cut = renderChunks(`x${'👍'.repeat(60_000)}`, plainText, { limit: 200_000, measure: utf16Units });
    expect(cut[0]?.text.isWellFormed()).toBe(true);
    expect(cut[0]?.text).toMatch(/👍\n\n\.\.\. cut at/u);
  });

  it('is at most fifty messages, none of them too long, whatever the text', () => {
    const units = fc.constantFrom(...EXPENSIVE.map(([, unit]) => unit));
    const sources = fc
      .array(fc.tuple(units, fc.integer({ min: 1, max: 120_000 })), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.map(([unit, length]) => filled(unit, length)).join(''));
    fc.assert(
      fc.property(sources, fc.constantFrom(...sendable), (source, [, compose, limit]) => {
        const chunks = compose(source);
        expect(chunks.length).toBeLessThanOrEqual(MAX_MESSAGES);
        if (source.length > MAX_CHARACTERS) expect(chunks.at(-1)?.text).toContain('... cut at ');
        for (const chunk of chunks) {
          expect(chunk.text.isWellFormed()).toBe(true);
          if (limit !== 200_000) expect(chunk.text.length).toBeLessThanOrEqual(limit);
        }
      }),
      { numRuns: 10 },
    );
  });
});

describe('mentions in untrusted text do not ping', () => {
  it('for Telegram, a name is no longer a mention, and mail and web addresses stay as they are', () => {
    const text = 'ask @admin_bot or (@boss), mail a@b.org or root@localhost, see https://e.org/@boss';
    const [chunk] = renderChunks(text, telegramHtml, { limit: 4_096, measure: utf16Units });
    const expected =
      'ask @\u2060admin_bot or (@\u2060boss), mail a@b.org or root@localhost, see https://e.org/@boss';
    expect(chunk).toEqual({ text: expected, plain: expected });
  });

  it('for Telegram, nor is a name after a second sign, or in an address that Telegram does not recognise', () => {
    const [chunk] = renderChunks(
      '@@boss <http://@boss> <http://localhost/@boss> <https://me@e.org/>',
      telegramHtml,
      {
        limit: 4_096,
        measure: utf16Units,
      },
    );
    expect(chunk?.text).toBe(
      '@@\u2060boss <a href="http://@boss">http://@\u2060boss</a> ' +
        '<a href="http://localhost/@boss">http://localhost/@\u2060boss</a> https://me@e.org/',
    );
  });

  it('for Slack, control sequences are escaped in text, code, links and plain text', () => {
    const text = '<!channel> <@U123> `<!here>` [<!everyone>](https://e.org/|<!here>) \n```\n<!channel>\n```';
    const [chunk] = renderChunks(text, slackMrkdwn, { limit: 4_096, measure: utf16Units });
    expect(chunk?.text).not.toMatch(/<[!@#]/);
    expect(chunk?.plain).not.toMatch(/<[!@#]/);
    expect(chunk?.text).toContain('&lt;!channel&gt; &lt;@U123&gt;');
  });
});

const limits = { limit: 300, measure: utf16Units };

describe('cutting', () => {
  it('is between paragraphs, and each part has its number', () => {
    const paragraphs = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(120));
    expect(renderChunks(paragraphs.join('\n\n'), plainText, limits).map((chunk) => chunk.text)).toEqual([
      `${paragraphs[0]}\n\n${paragraphs[1]}\n\n(1/2)`,
      `${paragraphs[2]}\n\n${paragraphs[3]}\n\n(2/2)`,
    ]);
  });

  it('closes a code block and opens it again, with its language and its indentation', () => {
    const code = Array.from({ length: 40 }, (_, line) => `  line(${line});`).join('\n');
    const chunks = renderChunks(`\`\`\`js\n${code}\n\`\`\``, discordMarkdown, limits);
    expect(chunks.length).toBeGreaterThan(1);
    for (const { text } of chunks) expect(text).toMatch(/^```js\n {2}line[^`]*;\n```\n\n\(\d\/\d\)$/);
    expect(chunks.map(({ text }) => text.replace(/^```js\n/, '').replace(/\n```[^`]*$/, '')).join('\n')).toBe(
      code,
    );
  });

  it('continues the style and the link that it cuts', () => {
    const words = Array.from({ length: 100 }, (_, n) => `w${n}`).join(' ');
    for (const { text } of renderChunks(`**[${words}](https://e.org)**`, telegramHtml, limits)) {
      expect(text).toMatch(/^<b><a href="https:\/\/e.org">[^<]*<\/a><\/b>\n\n\(\d+\/\d+\)$/);
    }
  });

  it('keeps a heading with its text', () => {
    const text = `${'x'.repeat(200)}\n\n## Heading\n\n${'y'.repeat(150)}`;
    expect(
      renderChunks(text, discordMarkdown, limits).map((chunk) => chunk.text.includes('## Heading')),
    ).toEqual([false, true]);
  });

  it('splits no character as a person sees it', () => {
    const family = '👨‍👩‍👧‍👦';
    for (const character of [family, '🇩🇪', 'e\u0301\u0323', '👍🏽', '𝔘', 'ש\u05c1\u05b8']) {
      const chunks = renderChunks(character.repeat(300), plainText, limits);
      expect(chunks.length).toBeGreaterThan(1);
      for (const { text } of chunks) {
        const shown = text.replace(/\n\n\(\d+\/\d+\)$/, '');
        expect(shown.length % character.length).toBe(0);
      }
    }
  });

  it('continues a list item without a second marker', () => {
    const words = Array.from({ length: 100 }, (_, n) => `w${n}`).join(' ');
    const [first, ...rest] = renderChunks(`- ${words}`, discordMarkdown, limits).map((chunk) => chunk.text);
    expect(first).toMatch(/^- w0 /);
    expect(rest.length).toBeGreaterThan(0);
    for (const text of rest) expect(text).toMatch(/^ {2}w\d/);
  });

  it('cuts no surrogate pair in an endless character', () => {
    const text = `e${'\u{1d165}'.repeat(2_000)}`;
    const chunks = renderChunks(text, plainText, limits).map((chunk) => withoutNumber(chunk.text));
    expect(chunks.every((chunk) => chunk.isWellFormed())).toBe(true);
    expect(chunks.join('')).toBe(text);
  });

  it('cuts an endless character between code points', () => {
    const chunks = renderChunks(`e${'\u0301'.repeat(2_000)}`, plainText, limits);
    expect(chunks.map(({ text }) => text.replace(/\n\n\(\d+\/\d+\)$/, '')).join('')).toBe(
      `e${'\u0301'.repeat(2_000)}`,
    );
  });

  it('counts bytes if the platform does', () => {
    for (const chunk of renderChunks('ש'.repeat(1_000), plainText, { limit: 300, measure: utf8Bytes })) {
      expect(utf8Bytes(chunk.text)).toBeLessThanOrEqual(300);
    }
  });

  it('leaves Markdown that fits exactly as written', () => {
    const text = '| a |\n|---|\n| b |\n\n\n* c\n';
    expect(cutSource(text, 300)).toEqual([text]);
  });

  it('reopens the fences of Markdown that is cut as written, longer than those inside', () => {
    const code = Array.from({ length: 30 }, () => 'some ``` code').join('\n');
    for (const chunk of cutSource(`before\n\n\`\`\`\`md\n${code}\n\`\`\`\`\n\nafter`, 200)) {
      expect(chunk.match(/^````/gm)?.length ?? 0).toBe(chunk.includes('some') ? 2 : 0);
    }
  });
});

/** Words are numbered, so that a lost or displaced word is found. */
const signs = fc.constantFrom(
  ...['*', '**', '_', '~', '`', '``` a b', '<', '>', '&', '"', '@everyone', '<!channel>', '<b>', '&lt;', '['],
  ...[']', '](', '\\', '|', '#', '👨‍👩‍👧‍👦', '🇩🇪', 'é', 'שלום', '\u200d', 'x'.repeat(700)],
);
const prose = fc
  .array(fc.oneof({ weight: 6, arbitrary: fc.constant('WORD') }, signs), { minLength: 1, maxLength: 60 })
  .chain((parts) => fc.constantFrom(' ', '', '\n').map((gap) => parts.join(gap)));
const lines = (most: number) => fc.array(prose, { minLength: 1, maxLength: most });
const block = fc.oneof(
  prose,
  prose.map((text) => `## ${text}`),
  prose.map((text) => `**${text}**`),
  lines(5).map((items) => items.map((item) => `- ${item}`).join('\n')),
  lines(4).map((items) => items.map((item) => `> ${item}`).join('\n')),
  lines(30).map((code) => `~~~\n${code.join('\n')}\n~~~`),
  lines(3).map((cells) => `| ${cells.join(' | ').replaceAll('\n', ' ')} |\n|---|---|\n| a | b |`),
  fc.string({ unit: 'grapheme', maxLength: 600 }),
);
const documentsOf = (blocks: fc.Arbitrary<string>) =>
  fc.array(blocks, { minLength: 1, maxLength: 10 }).map((parts) => {
    let count = 0;
    return parts.join('\n\n').replaceAll('WORD', () => `wq${count++}z`);
  });
const documents = documentsOf(block);
/** A cut link has its address twice, so links are tested only in texts that are not cut. */
const documentsWithLinks = documentsOf(
  fc.oneof(
    block,
    prose.map((text) => `[${text}](https://e.org)`),
  ),
);
const room = fc.integer({ min: 150, max: 4_096 });
const words = (text: string): string[] => text.match(/wq\d+z/g) ?? [];
const withoutNumber = (text: string): string => text.replace(/\n\n\(\d+\/\d+\)$/, '');
/** Letters and pictures only: white space and signs may be lost or repeated at a cut. */
const letters = (text: string): string => text.replaceAll(/&\w+;|[^\p{L}\p{N}\p{So}]/gu, '');

describe.each(MARKUPS)('every document as %s', (_name, markup) => {
  const shown = (text: string): string => (markup === telegramHtml ? shownByTelegram(text) : text);

  it('keeps every word of the Markdown, in order', () => {
    fc.assert(
      fc.property(documentsWithLinks, (source) => {
        const [chunk] = renderChunks(source, markup, { limit: 1_000_000, measure: utf16Units });
        expect(words(shown(chunk?.text ?? '').replaceAll(/[\\]/g, ''))).toEqual(words(source));
        if (chunk?.plain !== undefined) expect(words(chunk.plain)).toEqual(words(source));
      }),
      { numRuns: 20 },
    );
  });

  it('is cut without loss into chunks that are not too long, the same ones every time', () => {
    fc.assert(
      fc.property(documents, room, (source, limit) => {
        const chunks = renderChunks(source, markup, { limit, measure: utf16Units });
        expect(renderChunks(source, markup, { limit, measure: utf16Units })).toEqual(chunks);
        fc.pre(chunks.length < MAX_MESSAGES);
        for (const { text, plain = '' } of chunks) {
          expect(text.length + DUPLICATE_MARK.length).toBeLessThanOrEqual(limit);
          expect(plain.length + DUPLICATE_MARK.length).toBeLessThanOrEqual(limit);
          expect(text.isWellFormed() && plain.isWellFormed()).toBe(true);
          if (markup === slackMrkdwn || markup === discordMarkdown) {
            expect(text.split('```').length % 2).toBe(1);
          }
        }
        const [whole] = renderChunks(source, markup, { limit: 1_000_000, measure: utf16Units });
        expect(letters(chunks.map(({ text }) => shown(withoutNumber(text))).join(''))).toEqual(
          letters(shown(whole?.text ?? '')),
        );
        expect(letters(chunks.map(({ plain = '' }) => withoutNumber(plain)).join(''))).toEqual(
          letters(whole?.plain ?? ''),
        );
      }),
      { numRuns: 20 },
    );
  });
});

it('Markdown that is cut as written loses nothing either', () => {
  fc.assert(
    fc.property(documents, room, (document, limit) => {
      // The info after a fence is repeated with it.
      const source = document.replaceAll('``` a b', '');
      fc.pre(/[^\s\p{Cf}\p{Cc}]/u.test(source));
      const chunks = cutSource(source, limit);
      fc.pre(chunks.length < MAX_MESSAGES);
      for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(limit);
      expect(letters(chunks.map(withoutNumber).join(''))).toBe(letters(source.toWellFormed()));
    }),
    { numRuns: 40 },
  );
});
