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

describe('a mistake on the command line', () => {
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
    [['--status', 'ended', 'sessions'], '--status is an option of a command, and stands behind its name'],
    [['--frobnicate', 'sessions'], 'there is no option --frobnicate'],
    [['sessions', '--status', 'runing'], 'not "runing": did you mean running?'],
    [['sessions', '--status'], '--status wants a value: --status <status>'],
    [['sessions', '--status', '--watch'], '--status wants a value'],
    [['sessions', '--watch=yes'], '--watch takes no value'],
    [['sessions', '--route', 'a', '--route', 'b'], '--route is given twice'],
    [['sessions', '--limit', '0'], '--limit wants a whole number from 1 to 200, not "0"'],
    [['sessions', '--limit', '1e2'], '--limit wants a whole number from 1 to 200, not "1e2"'],
    [['sessions', 'extra'], 'there is one argument too many: "extra"'],
    [['status'], '<session> is missing'],
    [['status', ''], '<session> is empty'],
    [['completion', 'tcsh'], '<shell> is one of bash, zsh, fish, not "tcsh"'],
    [['help', 'sesions'], 'did you mean `angelia sessions`?'],
    [['sessions', '--url', 'nonsense'], '"nonsense" is no address of a server'],
    [['sessions', '--url', 'ftp://x'], '"ftp://x" is no address of a server'],
    [
      ['send', 'demo', '--wait', '--timeout', 'soon'],
      '--timeout wants a time such as 90s, 5m or 2h, not "soon"',
    ],
    [['retry'], 'name the deliveries, or say --dead for all that are'],
    [['retry', 'x.1', '--dead'], 'name the deliveries, or say --dead for all that are'],
  ])('%j is told in one line, with what was meant', async (argv, told) => {
    // A token, so that none of them fails for want of one.
    const { code, stdout, stderr } = await runRecorded(argv, { env: { ANGELIA_ADMIN_TOKEN: 't' } });
    expect(`${code} ${stdout}${stderr}`).toContain(`2 angelia: `);
    expect(stderr).toContain(told);
  });

  it('a token as an option is refused with the reason', async () => {
    expect(await refused('sessions', '--token', 'abc')).toContain('can be read by others (ps)');
    expect(await refused('--token', 'abc', 'sessions')).toContain('can be read by others (ps)');
    expect(await refused('--token=abc', 'sessions')).not.toContain('abc');
  });

  it('is told as JSON when JSON was asked for', async () => {
    expect(JSON.parse(await refused('sesions', '--json'))).toEqual({
      error: 'there is no command "sesions": did you mean `angelia sessions`?',
      code: 'usage',
      exit_code: 2,
      advice: 'angelia help',
    });
  });
});

/** One that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

describe('where it connects', () => {
  it('without a token it says where it looked, and exits with 4', async () => {
    const { code, stderr } = await runRecorded(['sessions'], { cwd: '/nowhere' });
    expect(code).toBe(4);
    expect(stderr).toContain('there is no /nowhere/.angelia/admin-token');
  });

  it('what no header can hold is no token, and is told without it', async () => {
    const { code, stderr } = await runRecorded(['sessions'], { env: { ANGELIA_ADMIN_TOKEN: 'two\nlines' } });
    expect([code, stderr]).toEqual([4, expect.stringContaining('ANGELIA_ADMIN_TOKEN: this is no token')]);
    expect(stderr).not.toContain('lines');
  });

  it("the local stack's token is sent to this machine only", async () => {
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
      expect(there.stderr).toContain('there is no admin token for angelia.example.com');
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('a server that is not there is 5', async () => {
    const { code, stderr } = await runRecorded(['sessions'], {
      env: { ANGELIA_ADMIN_TOKEN: 't', ANGELIA_URL: `http://127.0.0.1:${await closedPort()}` },
    });
    expect([code, stderr]).toEqual([5, expect.stringContaining('does not answer (ECONNREFUSED)')]);
  });

  it('a data directory that is none of ours is told, without a stack', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'angelia-cli-'));
    try {
      mkdirSync(join(dataDir, 'etc'));
      writeFileSync(join(dataDir, 'etc', 'ports.json'), 'not json');
      const { code, stderr } = await runRecorded(['rebuild'], { env: { ANGELIA_DATA: dataDir } });
      expect([code, stderr]).toEqual([78, expect.stringContaining('ports.json is no JSON')]);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('without a database it says which variables name one, and exits with 78', async () => {
    const { code, stderr } = await runRecorded(['rebuild']);
    expect([code, stderr]).toEqual([78, expect.stringContaining('set DATABASE_URL')]);
  });
});

describe('help', () => {
  it('without a command it is shown on stderr, as a mistake', async () => {
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

  it('of a group it shows what is in it', async () => {
    const { stdout } = await runRecorded(['routes', '--help']);
    expect(stdout).toContain('routes rotate-secret');
    expect(stdout.replace(/\s+/g, ' ')).toContain('(also: angelia routes)');
  });

  it('--version is the version of the package', async () => {
    const { version } = manifest;
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(await runRecorded(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(JSON.parse((await runRecorded(['-V', '--json'])).stdout)).toEqual({ version });
  });
});

describe('what cannot be undone', () => {
  it.each([[['erase', '01a1e281-20d9-7563-b8f1-427765d52c50']], [['routes', 'remove', 'deploys']]])(
    '%j wants --yes where nobody can be asked',
    async (argv) => {
      const { code, stderr } = await runRecorded(argv, { input: '', env: { ANGELIA_ADMIN_TOKEN: 't' } });
      expect([code, stderr]).toEqual([2, expect.stringContaining('say --yes if that is meant')]);
    },
  );

  it.each(['n\n', '\n', '', 'yess\n'])('typed %j at a terminal is a no', async (typed) => {
    const env = { ANGELIA_ADMIN_TOKEN: 't', ANGELIA_URL: `http://127.0.0.1:${await closedPort()}` };
    const { code, stderr } = await runRecorded(['routes', 'remove', 'deploys'], { typed, env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('route deploys is deleted? [y/N] ')]);
    expect(stderr).toContain('nothing was done');
  });

  it('typed yes it is done, or tried', async () => {
    const env = { ANGELIA_ADMIN_TOKEN: 't', ANGELIA_URL: `http://127.0.0.1:${await closedPort()}` };
    const { code } = await runRecorded(['routes', 'remove', 'deploys'], { typed: 'y\n', env });
    expect(code).toBe(5);
  });
});
