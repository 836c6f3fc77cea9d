import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packageRoot } from '../src/data-directory/layout.ts';
import { NODE_PACKAGES, PNPM, PNPM_BINARIES } from './toolchain.mjs';

const NAME = 'a-toolchain-of-this-test';
const VERSION = '1.2.3';

let scratch: string;
let registry: Server | undefined;
let tarball: Buffer;

/** Our own registry with one package. The hash that it reports always fits the package that it hands out. */
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'angelia-toolchain-'));
  const source = join(scratch, 'package');
  await mkdir(source);
  await writeFile(join(source, 'package.json'), JSON.stringify({ name: NAME, version: VERSION }));
  await run('tar', ['-czf', 'package.tgz', 'package'], scratch);
  tarball = await readFile(join(scratch, 'package.tgz'));
  registry = createServer((request, response) => {
    if (request.url?.endsWith('.tgz')) return response.end(tarball);
    const dist = { tarball: `${address()}/${NAME}.tgz`, integrity: integrityOf(tarball) };
    response.setHeader('content-type', 'application/json');
    return response.end(
      JSON.stringify({
        name: NAME,
        'dist-tags': { latest: VERSION },
        versions: { [VERSION]: { name: NAME, version: VERSION, dist } },
      }),
    );
  });
  const listening = registry;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  registry?.closeAllConnections();
  await new Promise((resolve) => registry?.close(resolve));
  await rm(scratch, { recursive: true, force: true });
});

/** An unused port before it listens: packing needs no registry. */
const address = () => `http://127.0.0.1:${(registry?.address() as AddressInfo | null)?.port ?? 1}`;
const integrityOf = (bytes: Buffer) => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;

function run(command: string, args: string[], cwd: string) {
  const env = {
    ...process.env,
    ...{ npm_config_registry: address(), npm_config_cache: join(scratch, 'cache'), npm_execpath: '' },
  };
  return new Promise<{ code: number | string; output: string }>((resolve) => {
    execFile(command, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, output: stdout + stderr });
    });
  });
}

/** Fetches a package as the launcher does, in its own process. */
function provide(integrity: string, root: string) {
  const module = pathToFileURL(join(packageRoot, 'bootstrap', 'toolchain.mjs')).href;
  const wanted = JSON.stringify([{ name: NAME, version: VERSION, integrity }]);
  const script = `import { provide } from ${JSON.stringify(module)};
    await provide(${JSON.stringify(root)}, ${wanted}, 'the tool').catch((error) => { console.log(error.code, error.message); process.exit(3); });`;
  return run(process.execPath, ['--input-type=module', '-e', script], scratch);
}

describe('a package of the toolchain', () => {
  it('is accepted if it has the pinned hash', async () => {
    const root = join(scratch, 'good');
    expect(await provide(integrityOf(tarball), root)).toMatchObject({ code: 0 });
    expect(existsSync(join(root, `.cache/toolchain/${NAME}-${VERSION}/node_modules/${NAME}`))).toBe(true);
  });

  it('is refused if it has another hash, whatever the registry says, and leaves nothing', async () => {
    const root = join(scratch, 'bad');
    const { code, output } = await provide(integrityOf(Buffer.from('what was published')), root);
    expect(code).toBe(3);
    expect(output).toContain(
      'BOOTSTRAP_FAILED the tool is refused: the hash of what npm fetched is not the one',
    );
    expect(existsSync(join(root, `.cache/toolchain/${NAME}-${VERSION}`))).toBe(false);
  });

  it('always has a pinned hash', () => {
    for (const { integrity } of [PNPM, ...Object.values(PNPM_BINARIES), ...Object.values(NODE_PACKAGES)]) {
      expect(Buffer.from(integrity.replace(/^sha512-/, ''), 'base64')).toHaveLength(64);
    }
  });
});
