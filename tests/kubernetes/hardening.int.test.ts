import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
  at,
  containersOf,
  idOf,
  isMap,
  type JsonMap,
  type KubernetesObject,
  listAt,
  mapAt,
  mapsIn,
  podSpecOf,
  textAt,
} from './object.ts';
import { renderVariant, repository, type Variant, variantNames } from './overlays.ts';

const services = ['ingress', 'agent-runner', 'delivery', 'process-watcher'];
/** Tested with `setpriv --bounding-set` (docs/kubernetes.md). process-watcher.yaml has the reason for each. */
const watcherCapabilities = ['SETUID', 'SETGID', 'CHOWN', 'KILL', 'DAC_OVERRIDE', 'FOWNER'];
/** What the Pod Security level `baseline` allows to add: https://kubernetes.io/docs/concepts/security/pod-security-standards/ */
const BASELINE = [
  ...['AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE'],
  ...['SETFCAP', 'SETGID', 'SETPCAP', 'SETUID', 'SYS_CHROOT'],
];
/** From libs/service-kit/src/process/shutdown.ts: after the drain there are six closing steps of two seconds each. */
const CLOSING_SECONDS = 12;

function isRootWatcher(variant: Variant, container: JsonMap): boolean {
  return (
    variant !== 'production with unprivileged-watcher' &&
    (container.name === 'process-watcher' || container.name === 'sticky-tmp')
  );
}

describe.each(variantNames)('%s', (variant) => {
  const objects = renderVariant(variant);
  const workloads = objects.filter((object) => podSpecOf(object) !== undefined);
  const each = workloads.flatMap((object) =>
    containersOf(object).map((container) => ({ object, container })),
  );

  it('lets no container gain privileges, write to its root file system or use unfiltered system calls', () => {
    for (const { object, container } of each) {
      const { capabilities, ...rest } = mapAt(container, 'securityContext');
      const place = `${idOf(object)} ${container.name}`;
      expect([place, rest]).toEqual([
        place,
        { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      ]);
      expect([place, mapAt({ capabilities: capabilities ?? null }, 'capabilities').drop]).toEqual([
        place,
        ['ALL'],
      ]);
      expect(textAt(podSpecOf(object), 'securityContext.seccompProfile.type')).toBe('RuntimeDefault');
    }
  });

  it('hides the config from the users that commands run as', () => {
    const watchers = workloads.filter((object) => textAt(object, 'metadata.name') === 'process-watcher');
    const modes = watchers
      .flatMap((object) => listAt(podSpecOf(object), 'volumes'))
      .filter((volume) => textAt(volume, 'name') === 'config')
      .map((volume) => at(volume, 'configMap.defaultMode'));
    expect(modes).toEqual([0o400]);
  });

  it('runs everything except process-watcher without root, and gives process-watcher only listed capabilities', () => {
    for (const { object, container } of each) {
      const added = listAt(container, 'securityContext.capabilities.add');
      const pod = mapAt(podSpecOf(object), 'securityContext');
      if (isRootWatcher(variant, container)) {
        expect(pod.runAsUser).toBe(0);
        expect(added).toEqual(container.name === 'process-watcher' ? watcherCapabilities : []);
      } else {
        expect([idOf(object), pod.runAsNonRoot, Number(pod.runAsUser) > 0, added]).toEqual([
          idOf(object),
          true,
          true,
          [],
        ]);
      }
    }
  });

  it('passes the Pod Security level `baseline`, which its namespace enforces', () => {
    for (const { object, container } of each) {
      const added = listAt(container, 'securityContext.capabilities.add').map(String);
      expect([idOf(object), added.filter((one) => !BASELINE.includes(one))]).toEqual([idOf(object), []]);
    }
    const file = join(
      repository,
      'deploy',
      'kubernetes',
      'overlays',
      variant === 'dev' ? 'dev' : 'production',
      'namespace.yaml',
    );
    const namespace = parse(readFileSync(file, 'utf8')) as JsonMap;
    expect(mapAt(namespace, 'metadata.labels')['pod-security.kubernetes.io/enforce']).toBe('baseline');
  });

  it('leaves the namespace of production alone, with the secrets and volumes in it', () => {
    expect(objects.filter(({ kind }) => kind === 'Namespace')).toHaveLength(variant === 'dev' ? 1 : 0);
  });

  it('names the strategy of every Deployment, so that an unchanged one stays unchanged', () => {
    const strategies = objects
      .filter(({ kind }) => kind === 'Deployment')
      .map((object) => textAt(object, 'spec.strategy.type'));
    expect(strategies).toEqual(['RollingUpdate', 'RollingUpdate', 'RollingUpdate']);
  });

  it('migrates as a step of every start, and has no Job, which could not be changed by an upgrade', () => {
    expect(objects.filter(({ kind }) => kind === 'Job')).toEqual([]);
    for (const object of objects.filter(({ kind }) => kind === 'Deployment')) {
      const [migrate] = listAt(podSpecOf(object), 'initContainers');
      expect(listAt(migrate, 'args')).toEqual(['migrate']);
      const [service] = listAt(podSpecOf(object), 'containers');
      expect(textAt(migrate, 'image')).toBe(textAt(service, 'image'));
    }
  });

  it('shares neither network, processes nor files with the host', () => {
    for (const object of workloads) {
      const spec = podSpecOf(object) ?? {};
      for (const key of ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace']) {
        expect([idOf(object), spec[key]]).toEqual([idOf(object), undefined]);
      }
      expect([...mapsIn(spec)].some((map) => 'hostPath' in map)).toBe(false);
    }
  });

  it('requests and limits CPU and memory', () => {
    for (const { object, container } of each) {
      for (const path of ['requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']) {
        const place = `${idOf(object)} ${container.name} ${path}`;
        expect([place, typeof at(container, `resources.${path}`)]).toEqual([place, 'string']);
      }
    }
  });

  it('probes every service on its admin port, on paths that exist', () => {
    const admin = readFileSync(
      join(repository, 'libs', 'service-kit', 'src', 'health', 'admin-server.ts'),
      'utf8',
    );
    const paths = /HEALTH_PATHS = \[([^\]]*)\]/.exec(admin)?.[1] ?? '';
    for (const { container } of serviceContainers(each)) {
      const port = listAt(container, 'ports').find((one) => textAt(one, 'name') === 'admin');
      expect(at(port, 'containerPort')).toBe(Number(environment(objects).ANGELIA_ADMIN_PORT));
      for (const [probe, path] of [
        ['startupProbe', '/healthz'],
        ['livenessProbe', '/healthz'],
        ['readinessProbe', '/readyz'],
      ]) {
        expect(mapAt(container, `${probe}.httpGet`)).toEqual({ path, port: 'admin' });
        expect(paths).toContain(`'${path}'`);
      }
    }
  });

  it('probes the others on ports that exist', () => {
    for (const { object, container } of each.filter(
      (one) => !services.includes(String(one.container.name)),
    )) {
      const ports = listAt(container, 'ports').map((port) => textAt(port, 'name'));
      const asked = [...mapsIn(container)].flatMap(({ httpGet }) => (isMap(httpGet) ? [httpGet.port] : []));
      expect([idOf(object), asked.filter((port) => !ports.includes(String(port)))]).toEqual([
        idOf(object),
        [],
      ]);
    }
  });

  it('gives every service enough time to drain', () => {
    for (const { object, container } of serviceContainers(each)) {
      const [command, seconds] = listAt(container, 'lifecycle.preStop.exec.command');
      const before = command === 'sleep' ? Number(seconds) : 0;
      const drain = Number(environment(objects).ANGELIA_DRAIN_SECONDS);
      const grace = Number(at(podSpecOf(object), 'terminationGracePeriodSeconds'));
      expect(grace).toBeGreaterThan(before + drain + CLOSING_SECONDS);
    }
    expect(serviceContainers(each)).toHaveLength(services.length);
  });

  it('gives no keys and credentials to the service that runs commands', () => {
    const watcher = each.find(({ container }) => container.name === 'process-watcher')?.container ?? {};
    const secrets = [...mapsIn(watcher)].flatMap(({ secretRef, secretKeyRef }) =>
      [secretRef, secretKeyRef].filter(isMap).map((one) => String(one.name).replace(/-[a-z0-9]{10}$/, '')),
    );
    expect(secrets.sort()).toEqual(['angelia-commands-env', 'angelia-database', 'angelia-nats']);
  });

  it('gives each process-watcher a stable name, and does not replace it when the config changes', () => {
    const set = workloads.find((object) => object.metadata.name === 'process-watcher');
    expect(set?.kind).toBe('StatefulSet');
    const [container] =
      set === undefined ? [] : containersOf(set).filter(({ name }) => name === 'process-watcher');
    const instance = listAt(container, 'env').find((one) => textAt(one, 'name') === 'ANGELIA_INSTANCE');
    expect(textAt(instance, 'valueFrom.fieldRef.fieldPath')).toBe('metadata.name');
    const volumes = listAt(podSpecOf(set as KubernetesObject), 'volumes');
    expect(volumes.map((volume) => textAt(volume, 'configMap.name'))).toContain('process-watcher-config');
  });
});

function serviceContainers<T extends { container: JsonMap }>(each: readonly T[]): T[] {
  return each.filter(({ container }) => services.includes(String(container.name)));
}

function environment(objects: readonly KubernetesObject[]): JsonMap {
  const found = objects.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('angelia-environment-'),
  );
  return mapAt(found, 'data');
}
