import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import manifest from '../package.json' with { type: 'json' };
import { runRecorded } from './testing/run-recorded.ts';

const refused = async (...argv: string[]): Promise<string> => {
  const { code, stdout, stderr } = await runRecorded(argv);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  return stderr;
};

describe('a usage error', () => {
  it.each([
    [['sesions'], 'there is no command "sesions": did you mean `angelia sessions`?'],
    [['dead'], 'there is no command "dead": did you mean `angelia dead-letters`?'],
    [['frobnicate'], 'there is no command "frobnicate"\n'],
    [['routes', 'lst'], '`angelia routes` has no command "lst": did you mean `angelia routes list`?'],
    [['routes', 'frobnicate'], 'it has list, show, add, remove, rotate-secret'],
    [['sessions', '--statsu', 'x'], 'there is no option --statsu: did you mean --status?'],
    [['sessions', '--frobnicate'], 'there is no option --frobnicate\n'],
    [['sessions', '--constructor'], 'there is no option --constructor\n'],
    [['sessions', '-x'], 'there is no option -x\n'],
    [
      ['--status', 'ended', 'sessions'],
      '--status is an option of a command: put it after the name of the command',
    ],
    [['--frobnicate', 'sessions'], 'there is no option --frobnicate'],
    [['sessions', '--status', 'runing'], 'not "runing": did you mean running?'],
    [['sessions', '--status'], '--status needs a value: --status <status>'],
    [['sessions', '--status', '--watch'], '--status needs a value'],
    [['sessions', '--watch=yes'], '--watch takes no value'],
    [['sessions', '--route', 'a', '--route', 'b'], '--route is given twice'],
    [['sessions', '--limit', '0'], '--limit must be a whole number from 1 to 200, not "0"'],
    [['sessions', '--limit', '1e2'], '--limit must be a whole number from 1 to 200, not "1e2"'],
    [['sessions', 'extra'], '`angelia sessions` has no command "extra": it has list'],
    [['doctor', 'extra'], 'one argument too many: "extra"'],
    [['cancel'], '<session> is missing: give an id, or filters'],
    [
      ['erase', '01a1e281-20d9-7563-b8f1-427765d52c50', '--route', 'r'],
      'give ids or filters (--route), not both',
    ],
    [['retry', '--dead', '--since', '2h'], '--since makes a job: leave out --dead'],
    [['dead-letters', 'replay'], 'name the dead letters, or give filters, or --all'],
    [['sessions', '-o', 'jsn'], '-o must be one of json, table, wide, not "jsn": did you mean json?'],
    [['status'], '<session> is missing'],
    [['status', ''], '<session> is empty'],
    [['completion', 'tcsh'], '<shell> must be one of bash, zsh, fish, not "tcsh"'],
    [['help', 'sesions'], 'did you mean `angelia sessions`?'],
    [['sessions', '--url', 'nonsense'], '"nonsense" is not the address of a server'],
    [['sessions', '--url', 'ftp://x'], '"ftp://x" is not the address of a server'],
    [
      ['send', 'demo', '--wait', '--timeout', 'soon'],
      '--timeout must be a time such as 90s, 5m or 2h, not "soon"',
    ],
    [['retry'], 'name the deliveries, or give --dead for all dead ones'],
    [
      ['retry', '01a1e281-20d9-7563-b8f1-427765d52c50.1', '--dead'],
      'name the deliveries, or give --dead for all dead ones',
    ],
  ])('%j prints one line with a suggestion', async (argv, told) => {
    // With a token, so that none of them fails because it is missing.
    const { code, stdout, stderr } = await runRecorded(argv, { env: { ANGELIA_ADMIN_TOKEN: 't' } });
    expect(`${code} ${stdout}${stderr}`).toContain(`2 angelia: `);
    expect(stderr).toContain(told);
  });

  it('a token as an option is refused, with the reason', async () => {
    expect(await refused('sessions', '--token', 'abc')).toContain(
      'other users can read a token on the command line (ps)',
    );
    expect(await refused('--token', 'abc', 'sessions')).toContain(
      'other users can read a token on the command line (ps)',
    );
    expect(await refused('--token=abc', 'sessions')).not.toContain('abc');
  });

  it('is JSON with --json', async () => {
    expect(JSON.parse(await refused('sesions', '--json'))).toEqual({
      error: 'there is no command "sesions": did you mean `angelia sessions`?',
      code: 'usage',
      exit_code: 2,
      advice: 'angelia help',
    });
  });
});

/** A port that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

describe('the connection', () => {
  it('without a token the error names the places where it looked, with exit code 4', async () => {
    const { code, stderr } = await runRecorded(['sessions'], { cwd: '/nowhere' });
    expect(code).toBe(4);
    expect(stderr).toContain('there is no /nowhere/.angelia/admin-token');
  });

  it('a token that no header can hold is refused and not quoted', async () => {
    const { code, stderr } = await runRecorded(['sessions'], { env: { ANGELIA_ADMIN_TOKEN: 'two\nlines' } });
    expect([code, stderr]).toEqual([4, expect.stringContaining('ANGELIA_ADMIN_TOKEN: this is not a token')]);
    expect(stderr).not.toContain('lines');
  });

  it("the local stack's token goes to this machine only", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'angelia-cli-'));
    try {
      writeFileSync(join(dataDir, 'admin-token'), 'local-token\n');
      const env = { ANGELIA_DATA: dataDir };
      const here = await runRecorded(['sessions', '--url', `http://127.0.0.1:${await closedPort()}`], {
        env,
      });
      expect(here.code).toBe(5);
      const there = await runRecorded(['sessions', '--url', 'https://angelia.example.com'], { env });
      expect(there.code).toBe(4);
      expect(there.stderr).toContain('no admin token for angelia.example.com');
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('an unreachable server gives exit code 5', async () => {
    const { code, stderr } = await runRecorded(['sessions'], {
      env: { ANGELIA_ADMIN_TOKEN: 't', ANGELIA_URL: `http://127.0.0.1:${await closedPort()}` },
    });
    expect([code, stderr]).toEqual([5, expect.stringContaining('does not answer (ECONNREFUSED)')]);
  });

  it('a foreign data directory gives an error without a stack', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'angelia-cli-'));
    try {
      mkdirSync(join(dataDir, 'etc'));
      writeFileSync(join(dataDir, 'etc', 'ports.json'), 'not json');
      const { code, stderr } = await runRecorded(['rebuild'], { env: { ANGELIA_DATA: dataDir } });
      expect([code, stderr]).toEqual([78, expect.stringContaining('ports.json is not JSON')]);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('without a database the error names the variables that set one, with exit code 78', async () => {
    const { code, stderr } = await runRecorded(['rebuild']);
    expect([code, stderr]).toEqual([78, expect.stringContaining('set DATABASE_URL')]);
  });
});

describe('help', () => {
  it('without a command it goes to stderr, with exit code 2', async () => {
    const { code, stdout, stderr } = await runRecorded([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage  angelia <command>');
  });

  it.each([[['help', 'routes', 'add']], [['routes', 'add', '--help']], [['routes', 'add', 'x', '-h']]])(
    '%j shows usage, options and examples',
    async (argv) => {
      const { code, stdout } = await runRecorded(argv);
      expect(code).toBe(0);
      expect(stdout).toContain('Usage  angelia routes add <route> [options]');
      expect(stdout).toContain('--deliver-extra <key=value>');
      expect(stdout).toContain('angelia routes add deploys --prompt');
    },
  );

  it('of a group shows its commands', async () => {
    const { stdout } = await runRecorded(['routes', '--help']);
    expect(stdout).toContain('routes rotate-secret');
    expect(stdout.replace(/\s+/g, ' ')).toContain('(also: angelia routes)');
  });

  it('of a noun that has only a list shows the list', async () => {
    const { stdout } = await runRecorded(['sessions', '--help']);
    expect(stdout).toContain('Usage  angelia sessions list [options]');
    expect(stdout).toContain('--outcome <outcome>');
  });

  it.each([['--json'], ['-o', 'json'], ['-ojson'], ['--output', 'json'], ['--output=json']])(
    'is JSON with %s %s',
    async (...format) => {
      expect(JSON.parse((await runRecorded(['-V', ...format])).stdout)).toEqual({
        version: manifest.version,
      });
      const { stderr } = await runRecorded(['sesions', ...format]);
      expect(JSON.parse(stderr)).toMatchObject({ code: 'usage' });
    },
  );

  it('--version is the version of the package', async () => {
    const { version } = manifest;
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(await runRecorded(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(JSON.parse((await runRecorded(['-V', '--json'])).stdout)).toEqual({ version });
  });
});

describe('a command that cannot be undone', () => {
  it.each([[['erase', '01a1e281-20d9-7563-b8f1-427765d52c50']], [['routes', 'remove', 'deploys']]])(
    '%j needs --yes without a terminal',
    async (argv) => {
      const { code, stderr } = await runRecorded(argv, { input: '', env: { ANGELIA_ADMIN_TOKEN: 't' } });
      expect([code, stderr]).toEqual([2, expect.stringContaining('give --yes to confirm')]);
    },
  );

  it.each(['n\n', '\n', '', 'yess\n'])('the answer %j counts as no', async (typed) => {
    const env = { ANGELIA_ADMIN_TOKEN: 't', ANGELIA_URL: `http://127.0.0.1:${await closedPort()}` };
    const { code, stderr } = await runRecorded(['routes', 'remove', 'deploys'], { typed, env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('delete route deploys? [y/N] ')]);
    expect(stderr).toContain('nothing was changed');
  });

  it('runs after the answer yes', async () => {
    const env = { ANGELIA_ADMIN_TOKEN: 't', ANGELIA_URL: `http://127.0.0.1:${await closedPort()}` };
    const { code } = await runRecorded(['routes', 'remove', 'deploys'], { typed: 'y\n', env });
    expect(code).toBe(5);
  });
});
