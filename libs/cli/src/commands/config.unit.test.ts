// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is a variable of the config
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runRecorded } from '../testing/run-recorded.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'angelia-config-check-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const GOOD = `
models: { m: { provider: builtin, model: echo } }
agents: { default: { model: m } }
routes: { hook: { secret: "\${HOOK_SECRET}" } }
`;
const write = (name: string, text: string) => writeFileSync(join(cwd, name), text, { mode: 0o600 });
const check = (...args: string[]) => runRecorded(['config', 'check', ...args], { cwd });

describe('angelia config check', () => {
  it('says that a file is good, with the variables of `.env` beside it', async () => {
    write('angelia.yaml', GOOD);
    expect(await check()).toMatchObject({
      code: 78,
      stdout: expect.stringContaining('HOOK_SECRET is not set'),
    });
    write('.env', 'HOOK_SECRET=s3cret-of-the-hook\n');
    expect(await check()).toEqual({
      code: 0,
      stdout: `${join(cwd, 'angelia.yaml')} is good (1 route)\n`,
      stderr: '',
    });
    expect(JSON.parse((await check('--json')).stdout)).toEqual({
      valid: true,
      file: join(cwd, 'angelia.yaml'),
      routes: 1,
      warnings: [],
    });
  });

  it('shows each problem with its place, for people and for programs', async () => {
    write('new.yaml', 'limits:\n  rate_limit: many\nroute: {}\n');
    const path = join(cwd, 'new.yaml');
    expect(await check('new.yaml')).toEqual({
      code: 78,
      stderr: '',
      stdout:
        `limits.rate_limit: "many" is not a number. Write a number, without quotes. (${path}:2:15)\n` +
        `route: unknown key \`route\`. Did you mean \`routes\`? (${path}:3:1)\n`,
    });
    expect(JSON.parse((await check('new.yaml', '--json')).stdout)).toEqual({
      valid: false,
      errors: [
        {
          path: 'limits.rate_limit',
          line: 2,
          column: 15,
          message: '"many" is not a number. Write a number, without quotes.',
        },
        { path: 'route', line: 3, column: 1, message: 'unknown key `route`. Did you mean `routes`?' },
      ],
    });
  });

  it('warns about questions whose links nobody else can open', async () => {
    write(
      'angelia.yaml',
      GOOD.replace('model: m }', 'model: m, toolsets: [clarify] }').replace(
        '${HOOK_SECRET}',
        's3cret-s3cret',
      ),
    );
    expect(await check()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: public_url: not set'),
    });
  });

  it('says that a file is missing', async () => {
    expect(await check('gone.yaml')).toMatchObject({
      code: 78,
      stdout: expect.stringContaining('there is no such file'),
    });
  });
});

describe('angelia restart', () => {
  it('says where it looked if no stack runs', async () => {
    expect(await runRecorded(['restart'], { cwd })).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`no local stack runs in ${join(cwd, '.angelia')}`),
    });
  });
});
