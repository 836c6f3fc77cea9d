import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { programs } from '../deploy/local/build.mjs';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const files = (pattern: string) => globSync(pattern, { cwd: root }).sort();

describe('the image', () => {
  const dockerfile = read('deploy/docker/Dockerfile');
  const inImage = [
    ...read('deploy/docker/entrypoint.mjs').matchAll(/'?([\w-]+)'?: '\.\.\/\.\.\/dist\/([\w-]+)\.js'/g),
  ].map(([, name, program = '']) => {
    expect(name).toBe(program);
    return programs[program as keyof typeof programs];
  });

  it('has every service and every command as a program', () => {
    // What is no program of its own, and what only those need who change the code.
    const others = [
      'libs/contracts/src/commands/write-schema.ts',
      'libs/event-log/src/commands/command-line.ts',
      'libs/service-kit/src/commands/write-metrics-table.ts',
    ];
    // Those of the command line are one program, `angelia`.
    const commands = files('libs/{contracts,event-log,service-kit}/src/commands/*.ts').filter(
      (path) => !path.endsWith('.test.ts') && !others.includes(path),
    );
    expect(inImage.sort()).toEqual([...files('services/*/src/main.ts'), ...commands].sort());
  });

  it('is built with the manifest of every package of the workspace', () => {
    expect(dockerfile).toMatch(/^COPY \. \.\nRUN .*\n.*find \. -name package\.json/m);
    const ignored = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '');
    const { packages } = parse(read('pnpm-workspace.yaml')) as { packages: string[] };
    const manifests = packages.flatMap((pattern) => files(`${pattern}/package.json`));
    expect(manifests.length).toBeGreaterThan(packages.length);
    for (const manifest of manifests) {
      const steps = manifest.split('/');
      const paths = steps.map((_, index) => steps.slice(0, index + 1).join('/'));
      const names = [...paths, ...steps.map((step) => `**/${step}`)];
      expect(names.filter((name) => ignored.includes(name))).toEqual([]);
    }
  });

  it('is built with the pnpm that the lockfile was written with', () => {
    const [, version] = /PNPM_VERSION = '(.*)'/.exec(read('deploy/local/bootstrap/toolchain.mjs')) ?? [];
    expect(version).toBeDefined();
    expect(dockerfile).toContain(`pnpm@${version}\n`);
  });
});

describe('docker-compose.yml', () => {
  const text = read('docker-compose.yml');
  type Service = Readonly<Record<string, unknown>> & { readonly image: string };
  const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };

  it('takes every right away from every container, and gives back what is listed', () => {
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        logging: { options: { 'max-size': '10m' } },
      });
    }
    const given = Object.entries(services).filter(([, { cap_add }]) => cap_add !== undefined);
    expect(given.map(([name]) => name)).toEqual(['postgres', 'process-watcher']);
  });

  it('lets none of our services write to its root file system', () => {
    const ours = Object.entries(services).filter(([, { image }]) => image === 'angelia:local');
    expect(ours.map(([name]) => name)).toEqual([
      'migrate',
      'ingress',
      'agent-runner',
      'delivery',
      'process-watcher',
    ]);
    for (const [, service] of ours) expect(service.read_only).toBe(true);
  });

  it('gives every service the time that its drain may take', () => {
    const [, drain] = /^\| `ANGELIA_DRAIN_SECONDS` +\| `(\d+)`/m.exec(read('docs/configure.md')) ?? [];
    const shutdown = read('libs/service-kit/src/shutdown.ts');
    const [, closing] = /CLOSING_STEP_MS = ([\d_]+)/.exec(shutdown) ?? [];
    const steps = shutdown.match(/await step\('\w+', CLOSING_STEP_MS/g) ?? [];
    const most = Number(drain) + (steps.length * Number(closing?.replace('_', ''))) / 1000;
    expect(most).toBeGreaterThan(30);
    for (const name of ['ingress', 'agent-runner', 'delivery', 'process-watcher']) {
      expect(Number.parseInt(String(services[name]?.stop_grace_period), 10)).toBeGreaterThan(most);
    }
  });

  it('publishes on loopback only, and no admin port', () => {
    const ports = Object.values(services).flatMap(({ ports: published = [] }) => published as string[]);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:.*:(8644|16686|9090|3000)$/);
  });

  it('wants no variable that .env.example does not name', () => {
    const wanted = new Set([...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
    const named = [...read('.env.example').matchAll(/^(\w+)=$/gm)].map(([, name]) => name);
    expect([...wanted].sort()).toEqual(named.sort());
  });
});
