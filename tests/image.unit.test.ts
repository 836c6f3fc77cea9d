import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programs } from '@angelia/local/build';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

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
    // Files that are not programs, and programs that only developers need.
    const others = [
      'libs/contracts/src/commands/write-schema.ts',
      'libs/event-log/src/commands/command-line.ts',
      'libs/service-kit/src/commands/write-metrics-table.ts',
    ];
    // The commands of the command line are one program, `angelia`.
    const commands = files('libs/{config,contracts,event-log,service-kit}/src/commands/*.ts').filter(
      (path) => !path.endsWith('.test.ts') && !others.includes(path),
    );
    expect(inImage.sort()).toEqual([...files('services/*/src/main.ts'), ...commands].sort());
  });

  it('is built with the manifest of every workspace package', () => {
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

  it('has the console where ingress looks for it, built in the image', () => {
    const source = 'services/ingress/src/console/bundle/console-bundle.ts';
    const [, path = ''] = /new URL\('([^']+)', import\.meta\.url\)/.exec(read(source)) ?? [];
    // As in dist/, where the build puts a source without its `src` (bundle-plugins.mjs).
    const inImage = new URL(path, `file:///app/dist/${source.replace('/src/', '/')}`).pathname;
    expect(inImage).toBe('/app/libs/console/dist/');
    expect(dockerfile).toMatch(/^RUN .*node libs\/console\/build\/build\.mjs$/m);
    expect(dockerfile).toMatch(/^COPY --from=build \/app\/libs\/console\/dist libs\/console\/dist$/m);
  });

  it("is built with the launcher's pnpm, whose hash is checked, and with no other program from npm", () => {
    expect(dockerfile).toMatch(/^COPY deploy\/local\/bootstrap \/bootstrap\nRUN .*providePnpm/m);
    expect(dockerfile).not.toMatch(/npm (install|i|exec|ci)\b|npx|corepack/);
  });

  it('lets only the services read the mounted config', () => {
    expect(dockerfile).toContain('install -d -o root -g node -m 0750 /etc/angelia\n');
    // Both are inside of it: the mounted file, and the mounted directory.
    expect(read('docker-compose.yml')).toContain('ANGELIA_CONFIG: /etc/angelia/angelia.yaml\n');
    for (const script of ['entrypoint.mjs', 'angelia.sh'])
      expect(read(`deploy/docker/${script}`)).toContain('/etc/angelia/live/angelia.yaml');
    expect(read('docker-compose.yml').match(/:\/etc\/angelia\/(live|angelia\.yaml):ro/g)).toHaveLength(4);
  });
});

describe('docker-compose.yml', () => {
  const text = read('docker-compose.yml');
  type Service = Readonly<Record<string, unknown>> & {
    readonly image: string;
    readonly networks?: readonly string[];
  };
  const { services } = parse(text, { merge: true }) as { services: Record<string, Service> };

  it('drops all capabilities of every container, and adds only listed ones', () => {
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

  it('limits memory and processes of every container', () => {
    for (const [name, { mem_limit, pids_limit }] of Object.entries(services)) {
      expect([name, mem_limit, pids_limit]).toEqual([
        name,
        expect.stringMatching(/^\d+[mg]$/),
        expect.any(Number),
      ]);
    }
  });

  it('gives every service at least the memory that it has in Kubernetes', () => {
    const bytes = (text: string) => Number.parseInt(text, 10) * (/g/i.test(text) ? 1024 : 1);
    for (const name of ['ingress', 'agent-runner', 'delivery', 'process-watcher']) {
      const [, limit = ''] =
        /\n {6}containers:.*?limits: \{ cpu: "\d+", memory: (\w+)/s.exec(
          read(`deploy/kubernetes/base/${name}.yaml`),
        ) ?? [];
      expect([name, bytes(String(services[name]?.mem_limit))]).toEqual([name, bytes(limit)]);
    }
  });

  it('puts commands on a network with only Postgres, NATS and Prometheus, where NATS listens for clients only', () => {
    const on = (network: string) =>
      Object.keys(services).filter((name) => (services[name]?.networks ?? ['default']).includes(network));
    expect(on('commands')).toEqual(['postgres', 'nats', 'process-watcher', 'prometheus']);
    expect(on('default')).not.toContain('process-watcher');
    expect(JSON.stringify(services['process-watcher'])).not.toContain('jaeger');
    expect(read('deploy/docker/nats.conf')).toMatch(/^http: 127\.0\.0\.1:8222$/m);
  });

  it('ends half-open logins soon', () => {
    expect(services.postgres?.command).toEqual(['postgres', '-c', 'authentication_timeout=5s']);
  });

  it('gives every service enough time to drain', () => {
    const [, drain] = /^\| `ANGELIA_DRAIN_SECONDS` +\| `(\d+)`/m.exec(read('docs/configure.md')) ?? [];
    const shutdown = read('libs/service-kit/src/process/shutdown.ts');
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
    for (const port of ports)
      expect(port).toMatch(/^127\.0\.0\.1:.*:(\$\{ANGELIA_PORT:-8644\}|16686|9090|3000)$/);
  });

  it('needs no variable that .env.example does not name', () => {
    const wanted = new Set([...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name));
    const named = [...read('.env.example').matchAll(/^(\w+)=$/gm)].map(([, name]) => name);
    expect([...wanted].sort()).toEqual(named.sort());
  });
});

describe('make-env.sh', () => {
  const script = join(root, 'deploy/docker/make-env.sh');
  const inShell = (command: string, cwd: string) =>
    spawnSync('sh', ['-c', `umask 022; ${command}`, script], { cwd, encoding: 'utf8' });

  it.each(['"$0" .env', '"$0" > .env'])('%s creates a file that only its owner can read', (command) => {
    withDirectory((cwd) => {
      expect(inShell(command, cwd).status).toBe(0);
      expect((statSync(join(cwd, '.env')).mode & 0o777).toString(8)).toBe('600');
      const made = readFileSync(join(cwd, '.env'), 'utf8');
      for (const [, name] of read('.env.example').matchAll(/^(\w+)=$/gm)) {
        expect(made).toMatch(new RegExp(`^${name}=\\S{40,}$`, 'm'));
      }
    });
  });

  it('does not overwrite existing secrets', () => {
    withDirectory((cwd) => {
      writeFileSync(join(cwd, '.env'), 'POSTGRES_PASSWORD=old\n');
      const { status, stderr } = inShell('"$0" .env', cwd);
      expect([status, stderr]).toEqual([1, 'make-env: .env already exists: move it away first\n']);
      expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('POSTGRES_PASSWORD=old\n');
    });
  });
});

describe('pin-images.sh', () => {
  /** A stand-in for docker, because there may be none. It knows a digest of every image except those in `unknown`. */
  const engine = (unknown: string) => `#!/bin/sh
case $* in *"${unknown}"*) [ "$1" = pull ] || exit 0 ;; esac
[ "$1" = pull ] && exit 0
for ref; do :; done
echo "unrelated/image@sha256:$(printf %064d 9)"
echo "docker.io/library/\${ref%:*}@sha256:$(printf %064d 7)"
`;
  const pin = (cwd: string, unknown = 'no such image') => {
    writeFileSync(join(cwd, 'engine'), engine(unknown), { mode: 0o755 });
    writeFileSync(join(cwd, '.env'), 'NATS_IMAGE=nats:old\nKEPT=1\n', { mode: 0o600 });
    const { status } = spawnSync(join(root, 'deploy/docker/pin-images.sh'), ['.env'], {
      cwd,
      env: { ...process.env, ENGINE: join(cwd, 'engine') },
    });
    return { status, env: readFileSync(join(cwd, '.env'), 'utf8') };
  };
  const images = [read('docker-compose.yml'), read('deploy/docker/Dockerfile')]
    .flatMap((text) => [...text.matchAll(/^ *(?:image:|FROM) (\S+)/gm)].map(([, ref = '']) => ref))
    .filter((ref) => ref !== 'angelia:local');

  it('finds every image: a variable can set each of them', () => {
    for (const image of images) expect(image).toMatch(/^\$\{[A-Z]+_IMAGE:-[a-z/]+:[\w.-]+\}$/);
  });

  it('writes each with its digest, and keeps the rest of the file', () => {
    withDirectory((cwd) => {
      const { status, env } = pin(cwd);
      const digest = `sha256:${'7'.padStart(64, '0')}`;
      const wanted = images.map((image) => image.replace(/^\$\{(\w+):-(.*)\}$/, `$1=$2@${digest}`));
      expect(status).toBe(0);
      expect(env.trim().split('\n').sort()).toEqual([...new Set([...wanted, 'KEPT=1'])].sort());
      expect(statSync(join(cwd, '.env')).mode & 0o777).toBe(0o600);
    });
  });

  it('writes nothing when one image has no digest', () => {
    withDirectory((cwd) => {
      expect(pin(cwd, 'nats:2')).toEqual({ status: 1, env: 'NATS_IMAGE=nats:old\nKEPT=1\n' });
    });
  });
});

function withDirectory(work: (directory: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'angelia-image-'));
  try {
    work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
