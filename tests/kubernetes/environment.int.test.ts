import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { containersOf, type JsonMap, type KubernetesObject, listAt, mapAt, textAt } from './object.ts';
import { renderVariant, repository, variantNames } from './overlays.ts';

const services = ['ingress', 'agent-runner', 'delivery', 'process-watcher'];
/** Variables that are part of NATS_URL, and those that the OpenTelemetry SDK and the command line read. */
const forOthers = ['NATS_TOKEN', 'OTEL_METRICS_EXPORTER', 'ANGELIA_URL'];
/** A master key must be 32 bytes in base64, and a database URL must be a URL. The rest may be any text. */
const ofProduction: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://angelia:secret@10.0.0.5:5432/angelia',
  ANGELIA_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
};

describe.each(variantNames)('%s', (variant) => {
  const objects = renderVariant(variant);

  it('sets only variables that services read', () => {
    const source = readFileSync(join(repository, 'libs', 'config', 'src', 'environment.ts'), 'utf8');
    const read = [...source.matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)].map(([, name]) => name);
    expect(read).toContain('ANGELIA_DRAIN_SECONDS');
    for (const service of services) {
      const names = Object.keys(environmentOf(objects, service)).filter((name) => !isOfConfig(objects, name));
      expect(names.filter((name) => !read.includes(name) && !forOthers.includes(name))).toEqual([]);
      expect(names).toEqual(
        expect.arrayContaining(['DATABASE_URL', 'NATS_URL', 'ANGELIA_INSTANCE', 'ANGELIA_CONFIG']),
      );
    }
  });

  it('tells the command line in every pod the address of ingress, which is a Service', () => {
    const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'ingress');
    const [port] = listAt(service, 'spec.ports');
    expect(textAt(port, 'name')).toBe('http');
    for (const name of services) {
      expect(environmentOf(objects, name).ANGELIA_URL).toBe('http://ingress');
    }
    // Port 80 needs no number in the address.
    expect(mapAt({ port: port ?? {} }, 'port').port).toBe(80);
  });

  it('mounts the config where services look for it', () => {
    for (const service of services) {
      const mounts = listAt(containerOf(objects, service), 'volumeMounts');
      const mounted = mounts.find((mount) => textAt(mount, 'name') === 'config');
      expect(environmentOf(objects, service).ANGELIA_CONFIG).toBe(
        `${textAt(mounted, 'mountPath')}/angelia.yaml`,
      );
    }
  });
});

it('every service of every variant starts with its environment and config', () => {
  const attempts = variantNames.flatMap((variant) => {
    const objects = renderVariant(variant);
    return services.map((service) => ({
      service,
      environment: environmentOf(objects, service),
      config: configText(objects),
      servers: variant === 'dev' ? 1 : 3,
    }));
  });
  const expected = attempts.map(({ service, servers }) => ({
    service,
    adminPort: 9464,
    adminHost: '0.0.0.0',
    instance: `${service}-0`,
    servers,
  }));
  expect(loadAll(attempts)).toEqual(expected);
});

it('the same check finds an unknown key in the config and a wrong variable', () => {
  const objects = renderVariant('dev');
  const environment = environmentOf(objects, 'ingress');
  const config = configText(objects);
  const [unknownKey, wrongKey] = loadAll([
    { service: 'ingress', environment, config: `${config}\nroute: {}\n` },
    { service: 'ingress', environment: { ...environment, ANGELIA_MASTER_KEY: 'short' }, config },
  ]);
  expect(unknownKey?.error).toContain('unknown key `route`');
  expect(wrongKey?.error).toContain('ANGELIA_MASTER_KEY');
});

function containerOf(objects: readonly KubernetesObject[], service: string): JsonMap {
  const found = objects.flatMap(containersOf).find(({ name }) => name === service);
  if (found === undefined) throw new Error(`there is no container ${service}`);
  return found;
}

/** The environment that Kubernetes gives to the container, with `$(NAME)` filled in. */
function environmentOf(objects: readonly KubernetesObject[], service: string): Record<string, string> {
  const container = containerOf(objects, service);
  const environment: Record<string, string> = {};
  for (const source of listAt(container, 'envFrom')) {
    Object.assign(environment, dataOf(objects, 'ConfigMap', textAt(source, 'configMapRef.name')));
    const secret = textAt(source, 'secretRef.name');
    Object.assign(environment, secret === undefined ? {} : secretOf(objects, secret));
  }
  for (const variable of listAt(container, 'env')) {
    const name = String(textAt(variable, 'name'));
    const secret = textAt(variable, 'valueFrom.secretKeyRef.name');
    const key = String(textAt(variable, 'valueFrom.secretKeyRef.key'));
    const given = textAt(variable, 'value')?.replace(
      /\$\((\w+)\)/g,
      (_, other: string) => environment[other] ?? '?',
    );
    const fromPod =
      textAt(variable, 'valueFrom.fieldRef.fieldPath') === 'metadata.name' ? `${service}-0` : undefined;
    environment[name] =
      given ?? fromPod ?? (secret === undefined ? '' : (secretOf(objects, secret)[key] ?? standIn(key)));
  }
  return environment;
}

function secretOf(objects: readonly KubernetesObject[], name: string): Record<string, string> {
  const data = dataOf(objects, 'Secret', name);
  if (Object.keys(data).length > 0) {
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }
  // In production the user creates the secrets. The one for the config has each variable of the config.
  return name === 'angelia-config-env'
    ? Object.fromEntries(variablesOf(objects).map((key) => [key, standIn(key)]))
    : {};
}

function standIn(key: string): string {
  return ofProduction[key] ?? `${key.toLowerCase()}-0123456789`;
}

function dataOf(
  objects: readonly KubernetesObject[],
  kind: string,
  name: string | undefined,
): Record<string, string> {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  return mapAt(found, 'data') as Record<string, string>;
}

function configText(objects: readonly KubernetesObject[]): string {
  return String(dataOf(objects, 'ConfigMap', 'process-watcher-config')['angelia.yaml']);
}

/** `${NAME}` in the config file, except in comments. */
function variablesOf(objects: readonly KubernetesObject[]): string[] {
  const text = configText(objects).replace(/^\s*#.*$/gm, '');
  return [...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name);
}

function isOfConfig(objects: readonly KubernetesObject[], name: string): boolean {
  return variablesOf(objects).includes(name);
}

interface Attempt {
  readonly service: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly config: string;
}
interface Loaded {
  readonly error?: string;
  readonly service?: string;
}

/** By the loader of the services themselves, in a process of its own (tests may not import it): one for all, as each takes a while. */
function loadAll(attempts: readonly Attempt[]): Loaded[] {
  const directory = mkdtempSync(join(tmpdir(), 'angelia-kubernetes-'));
  try {
    const source = (path: string) =>
      JSON.stringify(pathToFileURL(join(repository, 'libs', 'config', 'src', path)).href);
    const program = `
      import { readFileSync, writeFileSync } from 'node:fs';
      import { readEnvironment } from ${source('environment.ts')};
      import { loadCommandConfig, loadConfig } from ${source('load/load.ts')};
      const load = ({ service, environment, config }) => {
        writeFileSync('angelia.yaml', config);
        const env = { ...environment, ANGELIA_CONFIG: 'angelia.yaml' };
        try {
          const { adminPort, adminHost, instance, natsUrl } = readEnvironment(service, env);
          (service === 'process-watcher' ? loadCommandConfig : loadConfig)(env);
          return { service, adminPort, adminHost, instance, servers: natsUrl.split(',').length };
        } catch (error) {
          return { error: error.message };
        }
      };
      process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(load)));`;
    const output = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: directory,
      encoding: 'utf8',
      env: {},
      input: JSON.stringify(attempts),
    });
    return JSON.parse(output) as Loaded[];
  } finally {
    rmSync(directory, { recursive: true });
  }
}
