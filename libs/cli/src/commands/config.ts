import { resolve } from 'node:path';
import { ApiRefusal } from '../api/client.ts';
import { defineCommand } from '../command-line/command.ts';
import { EXIT } from '../exit.ts';
import { configEnvironment } from '../local-stack/config-environment.ts';
import type { Runtime } from '../runtime.ts';

interface Problem {
  readonly path: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

export const configCheck = defineCommand({
  name: 'config check',
  summary: 'check a config file without using it',
  description:
    'It checks the file as the services do, with the variables of the environment and of `.env` beside the file. Each problem ' +
    'is one line with its place in the file. Exit code 78 means that the services would refuse the file.',
  arguments: [
    {
      name: 'file',
      optional: true,
      summary: 'the config file (ANGELIA_CONFIG, ./angelia.yaml, else the demo)',
    },
  ],
  examples: [
    { command: 'angelia config check', does: 'the file that the services use' },
    { command: 'angelia config check new.yaml', does: 'before you put it in place' },
  ],
  run: async ({ given, out, runtime }) => {
    const {
      checkConfigFile,
      ConfigRefused,
      outputLimitWarnings,
      publicUrlWarning,
      StartupError,
      withEnvFile,
    } = await import('@angelia/config');
    const named = given.argument('file');
    try {
      const env = withEnvFile(named === null ? configEnvironment(runtime) : environmentFor(runtime, named));
      const { config, path, demo } = checkConfigFile(env);
      const file = demo ? 'the built-in demo config' : path;
      const routes = Object.keys(config.routes).length;
      const address = { host: env.ANGELIA_HOST || '127.0.0.1', port: Number(env.ANGELIA_PORT || 8644) };
      const aboutLinks = publicUrlWarning(config, address);
      const warnings = [...(aboutLinks === null ? [] : [aboutLinks]), ...outputLimitWarnings(config)];
      out.answer(
        { valid: true, file, routes, warnings },
        () => `${file} is good (${routes} route${routes === 1 ? '' : 's'})`,
      );
      for (const warning of warnings) out.note(`warning: ${warning}`);
      return undefined;
    } catch (error) {
      if (!(error instanceof StartupError)) throw error;
      const errors: readonly Problem[] =
        error instanceof ConfigRefused
          ? error.problems
          : error.lines.map((message) => ({ path: '', line: null, column: null, message }));
      out.answer({ valid: false, errors }, () => error.lines.join('\n'));
      return EXIT.config;
    }
  },
});

/** For a file that the user names: with `.env` beside that file, and not with the other one. */
function environmentFor(runtime: Runtime, file: string): NodeJS.ProcessEnv {
  const bare = { ...runtime, env: runtime.bareEnv ?? runtime.env };
  return { ...configEnvironment(bare), ANGELIA_CONFIG: resolve(runtime.cwd, file) };
}

interface Reloaded {
  readonly status: 'taken' | 'unchanged';
  readonly file: string;
  readonly restart_needed: readonly { readonly key: string; readonly services: readonly string[] }[];
}

export const configReload = defineCommand({
  name: 'config reload',
  summary: 'make the services read their config file again',
  description:
    'Services do this by themselves within two seconds after the file or `.env` beside it changes, so this command is for ' +
    'whoever does not want to wait, or wants to see the result. If the file is wrong, the services keep the last good config, ' +
    'each problem is one line, and the exit code is 78. The answer is that of ingress; `angelia doctor` shows every service.',
  examples: [{ command: 'angelia config check && angelia config reload', does: 'after an edit' }],
  calls: ['post /v1/config/reload'],
  run: async ({ api, out }) => {
    try {
      const answer = await api().send<Reloaded>('POST', '/v1/config/reload');
      out.answer(answer, () => `${answer.file}: ${answer.status}`);
      for (const { key, services } of answer.restart_needed) {
        out.note(
          `${key}: takes effect after a restart of ${services.join(', ')} (angelia restart <service>)`,
        );
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.exitCode !== EXIT.config) throw error;
      const { errors = [], file = '' } = error.body as { errors?: readonly Problem[]; file?: string };
      out.answer(error.body, () => errors.map((problem) => problemText(file, problem)).join('\n'));
      out.note('the last good config stays in force');
      return EXIT.config;
    }
  },
});

function problemText(file: string, { path, line, column, message }: Problem): string {
  const where = line === null ? file : `${file}:${line}:${column}`;
  return path === '' ? `${where}: ${message}` : `${path}: ${message} (${where})`;
}
