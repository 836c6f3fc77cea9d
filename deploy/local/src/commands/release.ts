import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../data-directory/layout.ts';

const USAGE =
  'usage: npm run release -- <patch|minor|major|1.2.3> [--dry-run]\n' +
  'Sets the version, dates the changelog, commits and tags. It pushes and publishes nothing.';

/** Files that name the image's version, and no other version that could be mistaken for it. */
const NAME_THE_IMAGE = [
  'deploy/docker/Dockerfile',
  'deploy/kubernetes/overlays/production/kustomization.yaml',
  'docker-compose.yml',
  'docs/kubernetes.md',
];

/** `npm run release`: the part that a person does. CI builds and publishes from the tag. */
export function runRelease(args: readonly string[], root = repositoryRoot, today = new Date()): number {
  const dryRun = args.includes('--dry-run');
  const [wanted, ...more] = args.filter((arg) => arg !== '--dry-run');
  if (wanted === undefined || more.length > 0) return refuse(USAGE);
  const git = (...command: string[]) => execFileSync('git', command, { cwd: root, encoding: 'utf8' }).trim();
  const manifests = globSync(
    ['package.json', '{libs,services}/*/package.json', 'deploy/local/package.json'],
    {
      cwd: root,
    },
  );
  const current = versionIn(readFileSync(join(root, 'package.json'), 'utf8'));
  const next = nextVersion(current, wanted);
  if (next === null)
    return refuse(`"${wanted}" is neither patch, minor, major nor a version above ${current}.`);
  if (git('status', '--porcelain') !== '')
    return refuse('There are uncommitted changes: commit or stash them first.');
  if (git('tag', '--list', `v${next}`) !== '') return refuse(`The tag v${next} exists already.`);
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const dated = datedChangelog(changelog, next, today);
  if (dated === null)
    return refuse('CHANGELOG.md has nothing under "## Unreleased": write what changed first.');
  if (dryRun) {
    process.stdout.write(
      `angelia: would release ${next} (now ${current}) and write ${manifests.length + NAME_THE_IMAGE.length + 1} files\n`,
    );
    return 0;
  }
  const write = (file: string, text: string) => writeFileSync(join(root, file), text);
  for (const file of manifests)
    write(file, readFileSync(join(root, file), 'utf8').replace(/("version": ")[^"]*/, `$1${next}`));
  for (const file of NAME_THE_IMAGE)
    write(file, readFileSync(join(root, file), 'utf8').replaceAll(current, next));
  write('CHANGELOG.md', dated);
  git('commit', '--all', '--message', `release ${next}`);
  git('tag', '--annotate', `v${next}`, '--message', `Angelia ${next}`);
  process.stdout.write(`angelia: ${next} is committed and tagged. To publish: git push --follow-tags\n`);
  return 0;
}

function refuse(why: string): number {
  process.stderr.write(`angelia: ${why}\n`);
  return 1;
}

const versionIn = (manifest: string): string => (JSON.parse(manifest) as { version: string }).version;

/** Null if the text is not a version, or not one after the current version. */
export function nextVersion(current: string, wanted: string): string | null {
  const [major = 0, minor = 0, patch = 0] = current.split('.').map(Number);
  if (wanted === 'major') return `${major + 1}.0.0`;
  if (wanted === 'minor') return `${major}.${minor + 1}.0`;
  if (wanted === 'patch') return `${major}.${minor}.${patch + 1}`;
  const named = /^(\d+)\.(\d+)\.(\d+)$/.exec(wanted)?.slice(1).map(Number);
  if (named === undefined) return null;
  const difference = named
    .map((part, index) => part - ([major, minor, patch][index] ?? 0))
    .find((part) => part !== 0);
  return (difference ?? 0) > 0 ? wanted : null;
}

/** Null if there is nothing to release. */
function datedChangelog(text: string, version: string, today: Date): string | null {
  const heading = '## Unreleased\n';
  const start = text.indexOf(heading);
  if (start === -1) return null;
  const body = text.slice(start + heading.length).split(/^## /m)[0] ?? '';
  if (body.trim() === '') return null;
  const date = today.toISOString().slice(0, 10);
  return text.replace(heading, `${heading}\n## ${version} (${date})\n`);
}
