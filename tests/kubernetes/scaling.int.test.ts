import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STREAM_NAME } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { at, idOf, isMap, type JsonMap, type KubernetesObject, listAt, mapAt, textAt } from './object.ts';
import { renderVariant, repository, variantNames } from './overlays.ts';

describe.each(variantNames)('%s', (variant) => {
  const objects = renderVariant(variant);
  const scalers = objects.filter(({ kind }) => kind === 'HorizontalPodAutoscaler' || kind === 'ScaledObject');
  const targetOf = (scaler: KubernetesObject) => {
    const { kind, name } = mapAt(scaler, 'spec.scaleTargetRef');
    return objects.find((object) => object.kind === kind && object.metadata.name === name);
  };

  const isFixed = variant === 'dev' || variant === 'production with plain-replicas';

  it('scales existing workloads, each with one scaler that alone sets the number of replicas', () => {
    const targets = scalers.map((scaler) => targetOf(scaler));
    expect(targets.map((target) => (target === undefined ? 'nothing' : idOf(target))).sort()).toEqual(
      isFixed ? [] : ['Deployment/agent-runner', 'Deployment/delivery', 'Deployment/ingress'],
    );
    for (const target of targets) expect(at(target, 'spec.replicas')).toBeUndefined();
  });

  it('has two or more of each service in production, also without a scaler', () => {
    if (variant === 'dev') return;
    const counts = ['ingress', 'agent-runner', 'delivery'].map((name) => {
      const scaler = scalers.find((one) => targetOf(one)?.metadata.name === name);
      const deployment = objects.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === name,
      );
      return Number(
        at(scaler, 'spec.minReplicas') ??
          at(scaler, 'spec.minReplicaCount') ??
          at(deployment, 'spec.replicas'),
      );
    });
    expect(counts.every((count) => count >= 2)).toBe(true);
  });

  it('scales by CPU only workloads with a CPU request', () => {
    for (const scaler of scalers.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')) {
      const [container] = listAt(targetOf(scaler), 'spec.template.spec.containers');
      expect(textAt(container, 'resources.requests.cpu')).toMatch(/^\d+m$/);
    }
  });

  it('reads the lag of existing consumers of the scaled service, from an existing port of NATS', () => {
    const triggers = scalers.flatMap((scaler) =>
      listAt(scaler, 'spec.triggers')
        .filter((trigger) => textAt(trigger, 'type') === 'nats-jetstream')
        .map((trigger) => ({
          service: String(targetOf(scaler)?.metadata.name),
          of: mapAt(trigger, 'metadata'),
        })),
    );
    for (const { service, of } of triggers) {
      expect(of).toMatchObject({ stream: STREAM_NAME, account: '$G' });
      expect(durablesOf(service)).toContain(of.consumer);
      expect(servicePorts(objects)).toContain(of.natsServerMonitoringEndpoint);
    }
    expect(triggers.length).toBe(scalers.some(({ kind }) => kind === 'ScaledObject') ? 5 : 0);
  });

  it('queries the database with a variable of the container', () => {
    for (const scaler of scalers) {
      const names = listAt(targetOf(scaler), 'spec.template.spec.containers.0.env').map((one) =>
        textAt(one, 'name'),
      );
      const variables = listAt(scaler, 'spec.triggers').flatMap((trigger) => {
        const name = textAt(trigger, 'metadata.connectionFromEnv');
        return name === undefined ? [] : [name];
      });
      expect(names).toEqual(expect.arrayContaining(variables));
    }
  });

  it('never has more stream replicas than servers, and has three in production', () => {
    const config: unknown = parse(configText(objects));
    const replicas = isMap(config) ? (at(config, 'nats.replicas') ?? 1) : 0;
    const servers = at(
      objects.find((object) => idOf(object) === 'StatefulSet/nats'),
      'spec.replicas',
    );
    expect([replicas, servers]).toEqual(variant === 'dev' ? [1, 1] : [3, 3]);
  });
});

/** The names of a service's durable consumers, from the patterns of its controllers and the naming of the strategy. */
function durablesOf(service: string): string[] {
  const strategy = readFileSync(
    join(repository, 'libs', 'service-kit', 'src', 'transport', 'jetstream.strategy.ts'),
    'utf8',
  );
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the source's own words
  expect(strategy).toContain("return `${service}-${type.replaceAll('.', '_')}`;");
  const source = join(repository, 'services', service, 'src');
  const controllers = readdirSync(source).filter((file) => file.endsWith('.controller.ts'));
  return controllers.flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(/@EventPattern\('([^']+)'\)/g)].map(
      ([, type = '']) => `${service}-${type.replaceAll('.', '_')}`,
    ),
  );
}

function servicePorts(objects: readonly KubernetesObject[]): string[] {
  return objects
    .filter(({ kind }) => kind === 'Service')
    .flatMap((service) =>
      listAt(service, 'spec.ports').map(
        (port) =>
          `${service.metadata.name}.${service.metadata.namespace}.svc.cluster.local:${at(port, 'port')}`,
      ),
    );
}

function configMap(objects: readonly KubernetesObject[], name: string): KubernetesObject | undefined {
  return objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith(`${name}-`));
}

function configText(objects: readonly KubernetesObject[]): string {
  const data: JsonMap = mapAt(configMap(objects, 'angelia-config'), 'data');
  return String(data['angelia.yaml']);
}
