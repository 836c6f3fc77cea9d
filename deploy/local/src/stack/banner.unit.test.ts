import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { banner, demoCurl } from './banner.ts';
import { userMessage } from './run-script.ts';

describe('the message for the user', () => {
  it('is the line that the program addressed to the user, among other output', () => {
    expect(userMessage('{"level":30}\nangelia: x (y): do z\nat foo.js:1')).toBe('x (y): do z');
    expect(userMessage('Error: boom')).toBe('Error: boom');
  });
});

describe('the banner', () => {
  const facts = {
    url: 'http://127.0.0.1:8644',
    otherUrls: [],
    consoleLink: 'http://127.0.0.1:8644/console/sign-in#code.mac',
    adminTokenFile: "/tmp/it's here/admin-token",
    dataDir: '/tmp/data',
    readyInSeconds: 1.23,
    demoSecret: 'shh',
    routes: [],
    assignments: '',
  };

  it('has a curl command whose signature fits its body', () => {
    const curl = demoCurl(facts.url, 'shh');
    const body = /-d '([^']*)'/.exec(curl)?.[1] ?? '';
    const signature = createHmac('sha256', 'shh').update(body).digest('hex');
    expect(JSON.parse(body)).toBeInstanceOf(Object);
    expect(curl).toContain(`X-Hub-Signature-256: sha256=${signature}`);
  });

  it('has the link to the console, and how to get another', () => {
    const shown = banner({ ...facts, assignments: 'ANGELIA_PORT=9000 ' });
    expect(shown).toContain('  console      http://127.0.0.1:8644/console/sign-in#code.mac\n');
    expect(shown).toContain(
      '(works once, within ten minutes; another: ANGELIA_PORT=9000 ./angelia console)\n',
    );
  });

  it('without a link has the address of the console, which asks for the admin token', () => {
    const shown = banner({ ...facts, consoleLink: null });
    expect(shown).toContain('  console      http://127.0.0.1:8644/console\n');
    expect(shown).not.toContain('works once');
  });

  it('quotes a path, so that the command can be pasted', () => {
    expect(banner(facts)).toContain(`$(cat '/tmp/it'\\''s here/admin-token')`);
  });

  it('shows neither a secret nor a demo if the user has a config', () => {
    expect(banner({ ...facts, demoSecret: null })).not.toMatch(/demo|shh/);
  });

  it('lists the routes with the command that sends each a test webhook', () => {
    const routes = [
      { name: 'github-pr', status: 'active', madeByApi: false },
      { name: 'old', status: 'disabled', madeByApi: false },
      { name: 'deploys', status: 'active', madeByApi: true },
    ];
    const assignments = 'ANGELIA_PORT=9000 ';
    expect(banner({ ...facts, demoSecret: null, routes, assignments })).toContain(
      [
        'Send a test webhook to a route:',
        '',
        '  github-pr  ANGELIA_PORT=9000 ./angelia send github-pr',
        '  old        (disabled)',
        '  deploys    ANGELIA_PORT=9000 ./angelia send deploys --secret-file <file with its secret>',
        '',
      ].join('\n'),
    );
  });

  it('does not scroll away with many routes', () => {
    const routes = Array.from({ length: 50 }, (_, n) => ({
      name: `r${n}`,
      status: 'active',
      madeByApi: false,
    }));
    const shown = banner({ ...facts, routes });
    expect(shown.match(/angelia send/g)).toHaveLength(20);
    expect(shown).toContain('and 30 more: ./angelia routes list');
  });
});
