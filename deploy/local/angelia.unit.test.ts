import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { packageRoot, repositoryRoot } from './src/data-directory/layout.ts';

const readJson = (path: string) => JSON.parse(readFileSync(join(repositoryRoot, path), 'utf8'));

describe('npx angelia', () => {
  it('is our own command: npm looks at `bin` of the current package before it asks the registry', () => {
    // Without `bin`, `npx angelia` at the root would run whatever somebody publishes under that name. The dependency does
    // the same for packages below the root, where npm goes up to node_modules/.bin.
    const { bin, devDependencies } = readJson('package.json');
    expect(bin).toEqual({ angelia: 'deploy/local/angelia.mjs' });
    expect(devDependencies['@angelia/local']).toBe('workspace:*');
    expect(readJson('deploy/local/package.json').bin).toEqual({ angelia: './angelia.mjs' });
    expect(statSync(join(repositoryRoot, bin.angelia)).mode & 0o111).not.toBe(0);
  });
});

describe('an old Node that runs the needed one', () => {
  const module = pathToFileURL(join(packageRoot, 'bootstrap', 'run-with-node.mjs')).href;
  const withOldNode = (script: string) =>
    spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { runWithNode } from ${JSON.stringify(module)}; runWithNode(process.execPath, ['-e', ${JSON.stringify(script)}]);`,
    ]);
  const exitOf = (child: ReturnType<typeof withOldNode>) =>
    new Promise<number | null>((resolve) => child.once('close', resolve));

  it('returns its exit code', async () => {
    expect(await exitOf(withOldNode('process.exit(7)'))).toBe(7);
  });

  it('passes on signals', async () => {
    const child = withOldNode(
      "process.on('SIGINT', () => process.exit(9)); console.log('up'); setInterval(() => {}, 1e6)",
    );
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGINT');
    expect(await exitOf(child)).toBe(9);
  });
});
