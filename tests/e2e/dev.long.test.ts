import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  eventually,
  type Sink,
  signedPost,
  startSink,
  TEST_SECRET,
  TEST_SINK_SECRET,
  testConfig,
} from '@angelia/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The source of the built-in model's answer. */
const ECHO = 'services/agent-runner/src/models/echo.ts';

let sink: Sink;
let copy: string;
let dev: ChildProcess;
let output = '';

beforeAll(async () => {
  sink = await startSink({ secret: TEST_SINK_SECRET });
  copy = copyOfSources();
  const config = join(copy, 'angelia.yaml');
  writeFileSync(config, testConfig({ sinkUrl: sink.url }), { mode: 0o600 });
  // Not through start.mjs, which might install dependencies into the repository's own directory.
  const main = "const { main } = await import('./deploy/local/src/cli.ts'); await main(['dev']);";
  dev = spawn(process.execPath, ['--input-type=module', '--eval', main], {
    cwd: copy,
    env: {
      ...process.env,
      ANGELIA_CONFIG: config,
      ANGELIA_DATA: join(copy, 'data'),
      ANGELIA_PORT: '0',
      ANGELIA_ADMIN_TOKEN: 'test-admin-token',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [dev.stdout, dev.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  await says('watching the sources');
});

afterAll(async () => {
  if (dev.exitCode === null) {
    dev.kill('SIGTERM');
    await once(dev, 'exit');
  }
  await sink.stop();
  rmSync(copy, { recursive: true });
});

/** A copy of what `npm run dev` reads, so that a test can edit it. Dependencies come from the repository. */
function copyOfSources(): string {
  const root = mkdtempSync(join(tmpdir(), 'angelia-dev-'));
  const manifests = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'tsconfig.json'];
  for (const name of ['libs', 'services', 'deploy', ...manifests])
    cpSync(join(repository, name), join(root, name), { recursive: true, verbatimSymlinks: true });
  for (const name of ['node_modules', '.cache']) symlinkSync(join(repository, name), join(root, name));
  return root;
}

const says = (text: string, after = 0): Promise<unknown> =>
  eventually(() => output.slice(after).includes(text) || dev.exitCode !== null, {
    describe: () => `"${text}" in:\n${output}`,
  }).then(() => expect(output.slice(after)).toContain(text));

function edit(file: string, from: string, to: string): void {
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(from);
  // As most editors save: the file is another one afterwards.
  writeFileSync(`${path}.saving`, text.replace(from, to));
  renameSync(`${path}.saving`, path);
}

const ingress = (): string => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? '';

async function answerTo(text: string): Promise<string> {
  const baseUrl = ingress();
  const before = sink.received.length;
  const answer = await signedPost({ baseUrl, route: 'hook', secret: TEST_SECRET, body: { text } });
  expect(answer.status).toBe(202);
  await eventually(() => sink.received.length > before);
  return String(sink.received.at(-1)?.payload.text);
}

it('npm run dev restarts only the service whose source was saved; one that does not build changes nothing; the data stay', async () => {
  expect(await answerTo('one')).toBe('one');
  const saved = output.length;
  edit(ECHO, 'text: withoutFences(input)', "text: 'new: ' + withoutFences(input)");
  await says('agent-runner restarted', saved);
  expect(await answerTo('two')).toBe('new: two');
  expect(output.slice(saved)).not.toMatch(/(ingress|delivery|process-watcher) restarted/);

  const broken = output.length;
  edit(ECHO, 'function echo(', 'function echo(((');
  await says('the running services stay as they are', broken);
  await says(`${ECHO}:`, broken);
  expect(await answerTo('three')).toBe('new: three');
  const mended = output.length;
  edit(ECHO, 'function echo(((', 'function echo(');
  edit(ECHO, "'new: '", "'newer: '");
  await says('agent-runner restarted', mended);
  expect(await answerTo('four')).toBe('newer: four');

  const response = await fetch(`${ingress()}/v1/sessions`, {
    headers: { authorization: 'Bearer test-admin-token' },
  });
  expect(((await response.json()) as { items: unknown[] }).items).toHaveLength(4);
});
