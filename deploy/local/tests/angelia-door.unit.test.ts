import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { packageRoot, repositoryRoot } from '../src/layout.ts';

const readJson = (path: string) => JSON.parse(readFileSync(join(repositoryRoot, path), 'utf8'));

describe('npx angelia', () => {
  it('is our own: npm looks at `bin` of the package it is in before it asks the registry', () => {
    // Without the one, `npx angelia` at the root would be whatever someone publishes under that name; without the other, in
    // a package below it, where npm goes up to node_modules/.bin.
    const { bin, devDependencies } = readJson('package.json');
    expect(bin).toEqual({ angelia: 'deploy/local/angelia.mjs' });
    expect(devDependencies['@angelia/local']).toBe('workspace:*');
    expect(readJson('deploy/local/package.json').bin).toEqual({ angelia: './angelia.mjs' });
    expect(statSync(join(repositoryRoot, bin.angelia)).mode & 0o111).not.toBe(0);
  });
});

describe('the Node in front of the one that is needed', () => {
  const module = pathToFileURL(join(packageRoot, 'bootstrap', 'run-under.mjs')).href;
  const inFront = (script: string) =>
    spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { runUnder } from ${JSON.stringify(module)}; runUnder(process.execPath, ['-e', ${JSON.stringify(script)}]);`,
    ]);
  const exitOf = (child: ReturnType<typeof inFront>) =>
    new Promise<number | null>((resolve) => child.once('close', resolve));

  it('ends with its exit code', async () => {
    expect(await exitOf(inFront('process.exit(7)'))).toBe(7);
  });

  it('passes signals on', async () => {
    const child = inFront(
      "process.on('SIGINT', () => process.exit(9)); console.log('up'); setInterval(() => {}, 1e6)",
    );
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGINT');
    expect(await exitOf(child)).toBe(9);
  });
});
