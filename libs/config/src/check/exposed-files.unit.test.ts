import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { loadConfig } from '../load/load.ts';
import { exposedFileProblems } from './exposed-files.ts';

const withToolset = (toolset: string) => `
models: { echo: { provider: builtin, model: echo } }
agents:
  quiet: { model: echo }
  default: { model: echo, toolsets: [${toolset}] }
routes: { r: { secret: "some-secret-of-a-route", deliver: log } }
`;

let root: string;
let path: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'angelia-open-files-'));
  chmodSync(root, 0o755); // As mkdir makes it.
  path = join(root, 'angelia.yaml');
});
afterEach(() => rmSync(root, { recursive: true }));

/** Sets the mode whatever the umask is. */
function write(file: string, mode: number, text = withToolset('terminal')): void {
  writeFileSync(file, text);
  chmodSync(file, mode);
}
const problems = (cwd = root) => exposedFileProblems(loadConfig({ ANGELIA_CONFIG: path }), cwd);

describe('if an agent has terminal', () => {
  it('a config file that others can read is reported with its mode and what to run', () => {
    write(path, 0o644);
    expect(problems()).toEqual([
      expect.stringMatching(
        `^${path}: has mode 644, so every command of agents.default \\(toolset terminal\\) can read it. Run chmod 600 ${path} `,
      ),
    ]);
  });

  it('a file that is closed to others is no problem', () => {
    for (const mode of [0o600, 0o640, 0o400]) {
      write(path, mode);
      expect(problems()).toEqual([]);
    }
  });

  it('a file in a directory that others cannot enter is no problem', () => {
    write(path, 0o644);
    chmodSync(root, 0o750);
    expect(problems()).toEqual([]);
  });

  it('the target of a link is checked, as Kubernetes mounts files', () => {
    mkdirSync(join(root, '..data'));
    write(join(root, '..data', 'angelia.yaml'), 0o644);
    symlinkSync('..data/angelia.yaml', path);
    expect(problems()).toHaveLength(1);
    chmodSync(join(root, '..data', 'angelia.yaml'), 0o400);
    expect(problems()).toEqual([]);
  });

  it('files with variables, beside the config or in the working directory, are checked too', () => {
    write(path, 0o600);
    const cwd = join(root, 'elsewhere');
    mkdirSync(cwd, { mode: 0o755 });
    write(join(root, 'angelia.env'), 0o604, 'KEY=x\n');
    write(join(cwd, '.env'), 0o644, 'KEY=x\n');
    expect(problems(cwd).map((line) => line.split(':')[0])).toEqual([
      join(cwd, '.env'),
      join(root, 'angelia.env'),
    ]);
  });
});

it('without terminal nothing is refused, because no model runs commands', () => {
  write(path, 0o644, withToolset('clarify'));
  write(join(root, '.env'), 0o644, 'KEY=x\n');
  expect(problems()).toEqual([]);
});
