import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import {
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
import { renderVariant, repository, variantNames } from './overlays.ts';

const guide = readFileSync(join(repository, 'docs', 'kubernetes.md'), 'utf8');

describe.each(variantNames)('%s', (variant) => {
  const objects = renderVariant(variant);
  const workloads = objects.filter((object) => podSpecOf(object) !== undefined);
  const named = (kind: string, name: string | undefined) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name);
  const templateLabels = (object: KubernetesObject) => mapAt(object, 'spec.template.metadata.labels');
  const selected = (selector: JsonMap) =>
    workloads.filter((object) =>
      Object.entries(selector).every(([key, value]) => templateLabels(object)[key] === value),
    );

  it('has every ConfigMap and key that it refers to', () => {
    const missing = workloads.flatMap((object) =>
      configMapReferences(object).flatMap(({ name, key }) => {
        const data = mapAt(named('ConfigMap', name), 'data');
        const there = named('ConfigMap', name) !== undefined && (key === undefined || key in data);
        return there ? [] : [`${idOf(object)}: ${name} ${key ?? ''}`];
      }),
    );
    expect(missing).toEqual([]);
    expect(workloads.flatMap(configMapReferences).length).toBeGreaterThan(8);
  });

  it(
    variant === 'dev'
      ? 'has every secret and key that it refers to'
      : 'creates no secret, and the guide says how to create each one with all keys',
    () => {
      const references = workloads.flatMap(secretReferences);
      const missing = references.filter(({ name, key }) => {
        const secret = named('Secret', name);
        if (variant === 'dev')
          return secret === undefined || (key !== undefined && !(key in mapAt(secret, 'data')));
        const command = new RegExp(`create secret generic ${name} [^]*?(?=\\n\\n|\`\`\`)`).exec(guide)?.[0];
        return secret !== undefined || !command?.includes(`--from-literal=${key ?? ''}`);
      });
      expect(missing).toEqual([]);
      expect(references.length).toBeGreaterThan(8);
    },
  );

  it('has every mounted volume, and mounts every volume', () => {
    const wrong = workloads.flatMap((object) => {
      const volumes = [
        ...listAt(podSpecOf(object), 'volumes').map((volume) => textAt(volume, 'name')),
        ...listAt(object, 'spec.volumeClaimTemplates').map((claim) => textAt(claim, 'metadata.name')),
      ];
      const mounts = containersOf(object).flatMap((container) =>
        listAt(container, 'volumeMounts').map((mount) => textAt(mount, 'name')),
      );
      const lonely = [
        ...mounts.filter((name) => !volumes.includes(name)),
        ...volumes.filter((name) => !mounts.includes(name)),
      ];
      return lonely.map((name) => `${idOf(object)}: ${name}`);
    });
    expect(wrong).toEqual([]);
  });

  it('runs everything with an existing service account without a token', () => {
    for (const object of workloads) {
      const spec = podSpecOf(object);
      const account = named('ServiceAccount', textAt(spec, 'serviceAccountName'));
      expect([idOf(object), account?.automountServiceAccountToken]).toEqual([idOf(object), false]);
      expect([idOf(object), spec?.automountServiceAccountToken]).toEqual([idOf(object), false]);
    }
  });

  it('selects the right pods: workloads their own, services and budgets exactly one workload', () => {
    for (const object of workloads.filter(({ kind }) => kind !== 'Job')) {
      expect(selected(mapAt(object, 'spec.selector.matchLabels'))).toEqual([object]);
      for (const constraint of listAt(podSpecOf(object), 'topologySpreadConstraints')) {
        expect(selected(mapAt(constraint, 'labelSelector.matchLabels'))).toEqual([object]);
      }
    }
    const ofPods = objects.filter(({ kind }) => kind === 'Service' || kind === 'PodDisruptionBudget');
    expect(ofPods.length).toBeGreaterThanOrEqual(8);
    for (const object of ofPods) {
      const selector = mapAt(
        object,
        object.kind === 'Service' ? 'spec.selector' : 'spec.selector.matchLabels',
      );
      expect([idOf(object), selected(selector).length]).toEqual([idOf(object), 1]);
    }
  });

  it('has a budget for every service and for NATS', () => {
    const covered = objects
      .filter(({ kind }) => kind === 'PodDisruptionBudget')
      .flatMap((budget) => selected(mapAt(budget, 'spec.selector.matchLabels')).map(idOf));
    expect(covered.sort()).toEqual([
      'Deployment/agent-runner',
      'Deployment/delivery',
      'Deployment/ingress',
      'StatefulSet/nats',
      'StatefulSet/process-watcher',
    ]);
  });

  it('points services and the Ingress to existing ports', () => {
    for (const service of objects.filter(({ kind }) => kind === 'Service')) {
      const [workload] = selected(mapAt(service, 'spec.selector'));
      const ports = workload === undefined ? [] : containersOf(workload).flatMap(portNames);
      const wanted = listAt(service, 'spec.ports').map((port) => textAt(port, 'targetPort'));
      expect(ports).toEqual(expect.arrayContaining(wanted));
    }
    for (const ingress of objects.filter(({ kind }) => kind === 'Ingress')) {
      const backends = [...mapsIn(ingress)].flatMap(({ service }) => (isMap(service) ? [service] : []));
      expect(backends).not.toEqual([]);
      for (const backend of backends) {
        const ports = listAt(named('Service', textAt(backend, 'name')), 'spec.ports');
        expect(ports.map((port) => textAt(port, 'name'))).toContain(textAt(backend, 'port.name'));
      }
    }
  });

  it('publishes what senders, chat platforms and signed links need, and nothing for operators', () => {
    for (const ingress of objects.filter(({ kind }) => kind === 'Ingress')) {
      const paths = [...mapsIn(ingress)].flatMap(({ path }) => (typeof path === 'string' ? [path] : []));
      expect(paths).toEqual(['/webhooks/', '/chats/', '/answers/', '/approvals/', '/callbacks/']);
    }
  });

  it('has a headless Service behind every StatefulSet', () => {
    for (const set of objects.filter(({ kind }) => kind === 'StatefulSet')) {
      const service = named('Service', textAt(set, 'spec.serviceName'));
      expect([idOf(set), textAt(service, 'spec.clusterIP')]).toEqual([idOf(set), 'None']);
    }
  });

  it('runs programs that the image has', () => {
    const entrypoint = readFileSync(join(repository, 'deploy', 'docker', 'entrypoint.mjs'), 'utf8');
    const ours = workloads.flatMap(containersOf).filter(({ image }) => /(^|\/)angelia:/.test(String(image)));
    for (const container of ours.filter(({ name }) => name !== 'sticky-tmp')) {
      const words = [...listAt(container, 'command'), ...listAt(container, 'args')].map(String);
      expect(entrypoint).toMatch(new RegExp(`^  '?${container.name}'?: '`, 'm'));
      expect(entrypoint).toContain(words.at(-1));
      for (const file of words.filter((word) => word.startsWith('deploy/'))) {
        expect([file, existsSync(join(repository, file))]).toEqual([file, true]);
      }
    }
    expect(ours.map(({ name }) => name).sort()).toEqual([
      'agent-runner',
      'delivery',
      'ingress',
      ...['migrate', 'migrate', 'migrate'],
      'process-watcher',
      'sticky-tmp',
    ]);
  });

  it('names every image with a tag', () => {
    const images = workloads.flatMap(containersOf).map(({ image }) => String(image));
    expect(images.filter((image) => !/:[\w.-]+$/.test(image) || image.endsWith(':latest'))).toEqual([]);
  });
});

interface Reference {
  readonly name: string | undefined;
  readonly key?: string | undefined;
}

function configMapReferences(object: KubernetesObject): Reference[] {
  return [...mapsIn(object)].flatMap((map) => [
    ...refer(map.configMapRef, 'name'),
    ...refer(map.configMapKeyRef, 'name'),
    ...refer(map.configMap, 'name'),
  ]);
}

function secretReferences(object: KubernetesObject): Reference[] {
  return [...mapsIn(object)].flatMap((map) => [
    ...refer(map.secretRef, 'name'),
    ...refer(map.secretKeyRef, 'name'),
    ...refer(map.secret, 'secretName'),
  ]);
}

function refer(holder: unknown, field: string): Reference[] {
  if (!isMap(holder) || holder.optional === true) return [];
  return [{ name: textAt(holder, field), key: textAt(holder, 'key') }];
}

function portNames(container: JsonMap): (string | undefined)[] {
  return listAt(container, 'ports').map((port) => textAt(port, 'name'));
}

it('a scraped pod has the name of its service as job, as alerts and dashboards expect', () => {
  const objects = renderVariant('production with pod-monitor');
  const monitor = objects.find(({ kind }) => kind === 'PodMonitor');
  const jobLabel = textAt(monitor, 'spec.jobLabel') ?? '';
  const selector = Object.entries(mapAt(monitor, 'spec.selector.matchLabels'));
  const port = textAt(monitor, 'spec.podMetricsEndpoints.0.port');
  const jobs = objects.flatMap((object) => {
    const labels = mapAt(object, 'spec.template.metadata.labels');
    const scraped =
      podSpecOf(object) !== undefined &&
      selector.every(([key, value]) => labels[key] === value) &&
      containersOf(object).some((container) =>
        listAt(container, 'ports').some((one) => textAt(one, 'name') === port),
      );
    return scraped ? [labels[jobLabel]] : [];
  });
  const { scrape_configs: scraped } = parse(
    readFileSync(join(repository, 'deploy', 'observability', 'prometheus.yml'), 'utf8'),
  ) as { scrape_configs: { job_name: string }[] };
  expect(jobs.sort()).toEqual(scraped.map(({ job_name: job }) => job).sort());
});
