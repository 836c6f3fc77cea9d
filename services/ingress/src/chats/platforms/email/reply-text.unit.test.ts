import { describe, expect, it } from '@jest/globals';
import { htmlToText } from './html-text.ts';
import { replyText } from './reply-text.ts';

describe('what a person wrote into a reply', () => {
  it.each([
    [
      'Yes, go on.\n\nOn Wed, 18 Nov 2026 at 20:00, Bot <bot@example.com> wrote:\n> The question?\n> more',
      'Yes, go on.',
    ],
    [
      'Yes.\r\n\r\nOn Wed, 18 Nov 2026 at 20:00, Angelia of the Company\r\n<bot@example.com> wrote:\r\n\r\n> a',
      'Yes.',
    ],
    ['Ja.\n\nAm 18.11.2026 um 20:00 schrieb Bot:\n> Frage', 'Ja.'],
    ['Yes.\n\n-----Original Message-----\nFrom: Bot\nSent: today\nTo: me\n\nThe question?', 'Yes.'],
    [
      'Yes.\n\n________________________________\nFrom: Bot <b@x.y>\nSent: Wednesday\nTo: Me\nSubject: Re: x\n\nold',
      'Yes.\n\n________________________________',
    ],
    ['Yes.\n-- \nJane\nCEO', 'Yes.'],
    ['Yes.\n\nSent from my iPhone', 'Yes.'],
    ['> first?\nYes.\n> second?\nNo.', 'Yes.\nNo.'],
    ['On Monday I wrote:\nthe text stays', 'On Monday I wrote:\nthe text stays'],
    ['From: here to there\nit is far', 'From: here to there\nit is far'],
    ['a\n--\nb', 'a'],
    ['', ''],
  ])('%j', (whole, own) => {
    expect(replyText(whole)).toBe(own);
  });

  it('is found in linear time', () => {
    const started = process.cpuUsage().user;
    replyText('On Am Le wrote '.repeat(20_000) + '\n> '.repeat(20_000));
    replyText('On x\n'.repeat(50_000));
    expect(process.cpuUsage().user - started).toBeLessThan(5_000_000);
  });
});

describe('the text of HTML', () => {
  it.each([
    ['<p>Hello <b>you</b></p><p>Bye&nbsp;&amp; thanks</p>', 'Hello you\nBye & thanks'],
    ['a<br>b<BR/>c', 'a\nb\nc'],
    ['<style>p { color: red }</style><SCRIPT>x()</SCRIPT >y', 'y'],
    ['<!-- hidden -->seen', 'seen'],
    ['<ul><li>one</li><li>two</li></ul>', '- one\n- two'],
    ['Yes<blockquote>old<br>older</blockquote>', 'Yes\n> old\n> older'],
    ['1 &lt; 2 &#8364; &#x20AC; &bogus; &#55296;', '1 < 2 € € &bogus; '.trimEnd()],
    ['<div>a<div>b</div></div>', 'a\nb'],
    ['<p', ''],
    ['<style>never closed', ''],
  ])('%j', (html, text) => {
    expect(htmlToText(html)).toBe(text);
  });

  it('leaves the quotation of a reply to be cut off', () => {
    const html =
      '<div>Yes.</div><div class="gmail_quote">On Wed, 18 Nov 2026 Bot wrote:<br><blockquote>old</blockquote></div>';
    expect(replyText(htmlToText(html))).toBe('Yes.');
  });
});
