import { describe, expect, it } from '@jest/globals';
import { renderChunks } from '../cut/render-chunks.ts';
import { utf16Units } from './markup.ts';
import { joinLists, richHtml } from './rich-html.ts';

const html = (source: string): string =>
  joinLists(
    renderChunks(source, richHtml, { limit: 100_000, measure: utf16Units })
      .map(({ text }) => text)
      .join('\n'),
  );

describe('HTML for mail and Matrix', () => {
  it('has the structure of the Markdown', () => {
    expect(
      html(
        '# Title\n\nSome **bold** and *slanted* `code`\nin two lines.\n\n```ts\nlet a = 1 < 2;\n```\n\n> quoted',
      ),
    ).toBe(
      '<h1>Title</h1>\n\n<p>Some <strong>bold</strong> and <em>slanted</em> <code>code</code><br>in two lines.</p>\n\n' +
        '<pre><code class="language-ts">let a = 1 &lt; 2;</code></pre>\n\n<blockquote><p>quoted</p></blockquote>',
    );
  });

  it('makes one list of items that follow each other', () => {
    expect(html('- a\n- b\n  - c\n- d')).toBe(
      '<ul><li>a</li>\n<li>b</li>\n<ul><li>c</li></ul>\n<li>d</li></ul>',
    );
    expect(html('3. a\n4. b')).toBe('<ol start="3"><li>a</li>\n<li>b</li></ol>');
  });

  it.each([
    '<script>alert(1)</script>',
    'a <img src=x onerror="alert(1)"> b',
    '`<b onclick="x">`',
    '```<x>\n</code></pre><script>alert(1)</script>\n```',
    '```"><script>\nx\n```',
    '[x](javascript:alert(1))',
    '[x](https://example.com/"onmouseover="alert(1))',
    "<https://example.com/'><script>alert(1)</script>",
    '[<script>alert(1)</script>](https://example.com)',
    '![<script>](x" onerror="alert(1))',
  ])('%j becomes no tag, attribute or script', (source) => {
    const written = html(source);
    // Only our tags, and attributes with the values that we write.
    const left = written.replaceAll(
      /<\/?(?:h[1-6]|p|ul|li|strong|em|del|code|pre|blockquote|a)>|<br>|<ol start="\d+">|<code class="language-[\w+#.-]+">|<a href="(?:https?:|mailto:)[^"'<>]*">/g,
      '',
    );
    expect(left).not.toMatch(/[<>"']/);
  });
});
