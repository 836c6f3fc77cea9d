import { describe, expect, it } from '@jest/globals';
import { markdownHtml } from './markdown-html.ts';
import { foreign, visibleText } from './visible-text.ts';

/** The tags of a page, without their attributes. */
const tagsOf = (html: string) => new Set([...html.matchAll(/<([a-z]+)/gi)].map(([, name]) => name));

describe('the Markdown of a question', () => {
  it('has the common parts: emphasis, lists, tables, code, quotes', () => {
    const html = markdownHtml(
      '# Title\n\n**bold** _em_ `x<y`\n\n3. three\n\n- [x] done\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```sh\nrm -rf <x>\n```\n\n> said',
    );
    for (const part of [
      '<p><strong>Title</strong></p>',
      '<strong>bold</strong> <em>em</em> <code>x&lt;y</code>',
      '<ol start="3"><li>three</li></ol>',
      '<li>☑ done</li>',
      '<th>a</th><th>b</th>',
      '<td>1</td><td>2</td>',
      '<pre><code>rm -rf &lt;x&gt;</code></pre>',
      '<blockquote><p>said</p></blockquote>',
    ]) {
      expect(html).toContain(part);
    }
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    'a <b onclick="x()">b</b> <svg/onload=x()>',
    '<style>body{display:none}</style><base href="http://example.com">',
    '</div></main><form action="http://example.com"><button>Approve</button></form>',
    '![beacon](https://example.com/pixel.gif)',
    '![x](javascript:alert(1))',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](data:text/html,<script>1</script>)',
    '[x](/v1/sessions)',
    '[x](//example.com/a)',
    '[x](https://example.com/"onmouseover="alert(1))',
    '[x][1]\n\n[1]: javascript:alert(1)',
    '<javascript:alert(1)>',
    '```"><script>\nx\n```',
    '1<script>. x',
  ])('has no element and no address that it should not have: %s', (text) => {
    const html = markdownHtml(text);
    const known = ['div', 'p', 'a', 'b', 'small', 'pre', 'code', 'ol', 'li', 'em', 'strong'];
    expect([...tagsOf(html)].filter((tag) => !known.includes(tag ?? ''))).toEqual([]);
    expect(html).not.toMatch(/<[^>]*\son[a-z]+=/i);
    for (const [, href = ''] of html.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^https:\/\//);
  });

  it('says where a link leads, and loads no image', () => {
    expect(markdownHtml('[your bank](https://evil.example/x)')).toContain('<small>(evil.example)</small>');
    expect(markdownHtml('![pixel](https://evil.example/x.gif)')).toMatch(/<a [^>]*>\[image: pixel\]<\/a>/);
    expect(markdownHtml('<https://example.com/a>')).toContain('rel="noopener noreferrer nofollow"');
  });

  it('shows characters that turn text around by their code', () => {
    expect(markdownHtml('a\u202eb `c\u202ed`')).toContain('a\\u{202e}b <code>c\\u{202e}d</code>');
    expect(foreign('x\u2066<b>')).toBe('<bdi>x\\u{2066}&lt;b&gt;</bdi>');
    const text = 'שלום عربى 👩‍👩‍👧 \t a\r\nb';
    expect(visibleText(text)).toBe(text);
  });

  it('stays as it is if it is long or nests deep', () => {
    const long = `**${'a'.repeat(20_000)}**`;
    expect(markdownHtml(long)).toBe(`<div class="markdown" dir="auto"><p class="plain">${long}</p></div>`);
    for (const text of ['>'.repeat(5_000), '- '.repeat(5_000), '['.repeat(20_000), '*a '.repeat(6_000)]) {
      expect(markdownHtml(text).length).toBeLessThan(100_000);
    }
  });
});
