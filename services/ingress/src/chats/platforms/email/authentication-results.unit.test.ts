import { describe, expect, it } from '@jest/globals';
import { isVouchedFor } from './authentication-results.ts';

const vouched = (header: string | null, from = 'example.com') => isVouchedFor(header, 'mx.test', from);

describe('the server vouches for a sender', () => {
  it.each([
    'mx.test; dmarc=pass header.from=example.com',
    'MX.test 1; spf=pass smtp.mailfrom=a@b.c; dmarc=pass (p=NONE sp=NONE) header.from=Example.com',
    'mx.test; dkim=pass header.i=@example.com header.s=s1',
    'mx.test; dkim=fail header.d=example.com; dkim=pass (ok) header.d="example.com"',
    'mx.test;\r\n\tdkim = pass header.d = example.com',
  ])('%s', (header) => {
    expect(vouched(header)).toBe(true);
  });

  it('if a domain above the one in From signed', () => {
    expect(vouched('mx.test; dkim=pass header.d=example.com', 'mail.example.com')).toBe(true);
  });
});

describe('the server does not vouch for a sender', () => {
  it.each([
    [null, 'no header'],
    ['', 'an empty header'],
    ['mx.test; none', 'no result'],
    ['evil.test; dmarc=pass header.from=example.com', 'another server'],
    ['mx.test.evil; dmarc=pass header.from=example.com', 'a longer name'],
    ['mx.test; dmarc=fail header.from=example.com', 'a failure'],
    ['mx.test; dmarc=pass header.from=evil.com', 'another domain'],
    ['mx.test; dmarc=pass', 'no domain'],
    ['mx.test; spf=pass smtp.mailfrom=example.com', 'the envelope only'],
    ['mx.test; dkim=pass header.d=evil.com', 'somebody else signed'],
    ['mx.test; dkim=pass header.d=sub.example.com', 'a domain below signed'],
    ['mx.test; dkim=pass header.d=com', 'a top-level domain signed'],
    ['mx.test; dkim=pass header.d=notexample.com', 'a domain that ends alike'],
    [
      'mx.test; dmarc=fail header.from=example.com; dkim=pass header.d=example.com',
      'DMARC failed all the same',
    ],
    ['mx.test; dmarc=pass header.from=example.com; dmarc=fail header.from=example.com', 'two results'],
    [
      'mx.test; spf=none (mx.test; dmarc=pass header.from=example.com) smtp.helo=x',
      'words of the sender in a comment',
    ],
    ['mx.test; spf=none (a \\) dmarc=pass; dmarc=pass header.from=example.com', 'a comment without an end'],
    [
      'mx.test; spf=none smtp.mailfrom="x; dmarc=pass header.from=example.com"',
      'words of the sender in quotes',
    ],
    ['mx.test; spf=none smtp.mailfrom="x; dmarc=pass header.from=example.com', 'a quotation without an end'],
    ['mx.test spf=pass; dmarc=pass header.from=example.com', 'a header that is not well formed'],
    ['mx.test; dmarc=pass header.from=evil.com header.from=example.com', 'a property that is there twice'],
  ])('%s (%s)', (header, _why) => {
    expect(vouched(header)).toBe(false);
  });

  it('if the domain in From only ends like the one that signed', () => {
    expect(vouched('mx.test; dkim=pass header.d=example.com', 'notexample.com')).toBe(false);
  });
});
