import { describe, expect, it } from '@jest/globals';
import type { JsonMap } from './object.ts';
import { renderVariant, variantNames } from './overlays.ts';
import { type End, isLetThrough } from './reach.ts';

const pod = (name: string, component: string) => ({
  labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/component': component } as JsonMap,
});
const services = ['ingress', 'agent-runner', 'delivery', 'process-watcher'];
const ends: Readonly<Record<string, End>> = {
  ...Object.fromEntries(services.map((name) => [name, pod('angelia', name)])),
  nats: pod('nats', 'nats'),
  postgres: pod('postgres', 'postgres'),
  controller: { namespace: 'ingress-nginx', labels: {} },
  prometheus: { namespace: 'monitoring', labels: {} },
  collector: { namespace: 'observability', labels: {} },
  keda: { namespace: 'keda', labels: {} },
  stranger: { namespace: 'default', labels: {} },
  // Addresses reserved for documentation stand for public ones.
  public: { address: '203.0.113.7' },
  'public, IPv6': { address: '2001:db8::7' },
  private: { address: '10.1.2.3' },
  'another private': { address: '192.168.7.7' },
  // The address in overlays/production/postgres.yaml.
  database: { address: '192.0.2.10' },
  'beside the database': { address: '192.0.2.11' },
  'the metadata service': { address: '169.254.169.254' },
};
const end = (name: string): End => {
  const found = ends[name];
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
};

describe.each(variantNames)('%s', (variant) => {
  const objects = renderVariant(variant);
  const who = (candidates: readonly string[], to: string, port: number) =>
    candidates.filter((from) => isLetThrough(objects, { from: end(from), to: end(to), port }));
  const where = (from: string, candidates: readonly string[], port: number) =>
    candidates.filter((to) => isLetThrough(objects, { from: end(from), to: end(to), port }));
  const everyone = Object.keys(ends);
  const ours = [...services, 'nats', 'postgres'].filter((name) => variant === 'dev' || name !== 'postgres');

  it('lets only agent-runner and delivery reach the Internet, and nobody reach private addresses or the metadata service', () => {
    const out =
      variant === 'production with watcher-egress' ? [...services.slice(1)] : ['agent-runner', 'delivery'];
    expect(who(ours, 'public', 443)).toEqual(out);
    expect(who(ours, 'public, IPv6', 443)).toEqual(out);
    expect(who(ours, 'private', 443)).toEqual([]);
    expect(who(ours, 'the metadata service', 80)).toEqual([]);
    expect(who(ours, 'public', 587)).toEqual(['delivery']);
  });

  it('lets only the ingress controller reach ingress, and nothing else; and our own services, but not their commands', () => {
    expect(who(everyone, 'ingress', 8644)).toEqual(['ingress', 'agent-runner', 'delivery', 'controller']);
    for (const port of [8644, 9464, 4222, 6222, 8222, 5432]) {
      expect([port, where('controller', ours, port)]).toEqual([port, port === 8644 ? ['ingress'] : []]);
      expect([port, where('stranger', ours, port)]).toEqual([port, []]);
      expect([port, where('public', ours, port)]).toEqual([port, []]);
    }
  });

  it('lets only Prometheus reach the admin port of each service', () => {
    for (const service of services) expect(who(everyone, service, 9464)).toEqual(['prometheus']);
  });

  it('lets services and NATS reach NATS, and KEDA and Prometheus reach its monitoring port', () => {
    expect(who(everyone, 'nats', 4222)).toEqual(services);
    expect(who(everyone, 'nats', 6222)).toEqual(['nats']);
    expect(who(everyone, 'nats', 8222)).toEqual(['prometheus', 'keda']);
  });

  it('lets services reach Postgres', () => {
    const postgres = variant === 'dev' ? 'postgres' : 'database';
    expect(who(ours, postgres, 5432)).toEqual(services);
    if (variant === 'dev') expect(who(everyone, 'postgres', 5432)).toEqual(services);
    // No other database, because commands share the network of process-watcher.
    const others = ['private', 'another private', 'beside the database', 'public', 'stranger', 'nats'];
    for (const from of ours) expect([from, where(from, others, 5432)]).toEqual([from, []]);
  });

  it('lets services reach the trace collector', () => {
    expect(who(ours, 'collector', 4318)).toEqual(services);
  });
});
