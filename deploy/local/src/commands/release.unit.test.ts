import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { nextVersion, runRelease } from './release.ts';

let root: string;
const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const today = new Date('2026-11-18T09:00:00Z');

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'angelia-release-'));
  for (const manifest of ['package.json', 'libs/a/package.json', 'deploy/local/package.json'])
    write(manifest, '{\n  "version": "0.1.0"\n}\n');
  write('deploy/docker/Dockerfile', 'FROM scratch\nARG VERSION=0.1.0\n');
  write('deploy/kubernetes/overlays/production/kustomization.yaml', 'images: [{ newTag: 0.1.0 }]\n');
  write('docker-compose.yml', 'VERSION: $ANGELIA_VERSION:-0.1.0}\n');
  write('docs/kubernetes.md', 'registry.example.com/angelia:0.1.0\n');
  write(
    'CHANGELOG.md',
    '# Changelog\n\n## Unreleased\n\n- Something new.\n\n## 0.1.0 (2026-10-01)\n\n- All.\n',
  );
  git('init', '--quiet');
  git('config', 'user.email', 'test@example.com');
  git('config', 'user.name', 'Test');
  git('add', '.');
  git('commit', '--quiet', '--message', 'first');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a release', () => {
  it('sets the version everywhere, dates the changelog, commits and tags', () => {
    expect(runRelease(['minor'], root, today)).toBe(0);
    expect(JSON.parse(read('libs/a/package.json'))).toEqual({ version: '0.2.0' });
    expect(read('deploy/docker/Dockerfile')).toContain('ARG VERSION=0.2.0');
    expect(read('deploy/kubernetes/overlays/production/kustomization.yaml')).toContain('newTag: 0.2.0');
    expect(read('docker-compose.yml')).toContain('VERSION:-0.2.0}');
    expect(read('docs/kubernetes.md')).toContain('angelia:0.2.0');
    expect(read('CHANGELOG.md')).toContain('## Unreleased\n\n## 0.2.0 (2026-11-18)\n\n- Something new.\n');
    expect(git('log', '-1', '--format=%s')).toBe('release 0.2.0');
    expect(git('tag', '--list')).toBe('v0.2.0');
    expect(git('status', '--porcelain')).toBe('');
  });

  it.each([
    ['without a version', []],
    ['with a text that is no version', ['latest']],
    ['with a version that is not above the current one', ['0.1.0']],
  ])('%s changes nothing', (_, args) => {
    expect(runRelease(args, root, today)).toBe(1);
    expect(git('status', '--porcelain')).toBe('');
  });

  it('is refused if the changelog is empty, and if there are uncommitted changes', () => {
    write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n## 0.1.0 (2026-10-01)\n\n- All.\n');
    expect(runRelease(['minor'], root, today)).toBe(1);
    git('commit', '--all', '--quiet', '--message', 'nothing to tell');
    expect(runRelease(['minor'], root, today)).toBe(1);
    expect(git('tag', '--list')).toBe('');
  });

  it('with --dry-run writes nothing', () => {
    expect(runRelease(['patch', '--dry-run'], root, today)).toBe(0);
    expect(git('log', '-1', '--format=%s')).toBe('first');
    expect(git('status', '--porcelain')).toBe('');
  });

  it('compares versions as numbers', () => {
    expect(nextVersion('0.9.9', '0.10.0')).toBe('0.10.0');
    expect(nextVersion('0.10.0', '0.9.9')).toBeNull();
    expect(nextVersion('1.2.3', 'major')).toBe('2.0.0');
  });
});
