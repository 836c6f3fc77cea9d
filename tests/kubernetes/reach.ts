import { BlockList } from 'node:net';
import { isMap, type Json, type JsonMap, type KubernetesObject, listAt, mapAt, textAt } from './object.ts';

/** One end of a connection: a pod of this namespace, a pod of another namespace, or an outside address. */
export type End =
  | { readonly labels: JsonMap }
  | { readonly namespace: string; readonly labels: JsonMap }
  | { readonly address: string };

export interface Connection {
  readonly from: End;
  readonly to: End;
  readonly port: number;
}

/** Whether the network policies of both ends allow a connection. Only for TCP and numbered ports. */
export function isLetThrough(objects: readonly KubernetesObject[], connection: Connection): boolean {
  const { from, to, port } = connection;
  return lets(objects, 'Egress', from, to, port) && lets(objects, 'Ingress', to, from, port);
}

function lets(
  objects: readonly KubernetesObject[],
  direction: 'Ingress' | 'Egress',
  self: End,
  other: End,
  port: number,
): boolean {
  // The policies of this namespace do not apply to others.
  if ('address' in self || 'namespace' in self) return true;
  const binding = objects.filter(
    (object) =>
      object.kind === 'NetworkPolicy' &&
      listAt(object, 'spec.policyTypes').includes(direction) &&
      selects(mapAt(object, 'spec.podSelector'), self.labels),
  );
  if (binding.length === 0) return true;
  return binding.some((policy) =>
    listAt(policy, `spec.${direction.toLowerCase()}`).some(
      (rule) =>
        listAt(rule, 'ports').some((one) => isMap(one) && one.port === port && one.protocol === 'TCP') &&
        listAt(rule, direction === 'Ingress' ? 'from' : 'to').some((peer) => isPeer(peer, other)),
    ),
  );
}

function isPeer(peer: Json, end: End): boolean {
  if (!isMap(peer)) return false;
  if (isMap(peer.ipBlock)) return 'address' in end && isInBlock(peer.ipBlock, end.address);
  if ('address' in end) return false;
  const namespaces = peer.namespaceSelector;
  const pods = isMap(peer.podSelector) ? peer.podSelector : {};
  if (!isMap(namespaces)) return !('namespace' in end) && selects(pods, end.labels);
  if (!('namespace' in end)) return false;
  return selects(namespaces, { 'kubernetes.io/metadata.name': end.namespace }) && selects(pods, end.labels);
}

function isInBlock(block: JsonMap, address: string): boolean {
  const contains = (cidr: string): boolean => {
    const [net = '', bits = ''] = cidr.split('/');
    const family = (text: string) => (text.includes(':') ? 'ipv6' : 'ipv4');
    if (family(net) !== family(address)) return false;
    const list = new BlockList();
    list.addSubnet(net, Number(bits), family(net));
    return list.check(address, family(address));
  };
  return contains(String(block.cidr)) && !listAt(block, 'except').some((cidr) => contains(String(cidr)));
}

function selects(selector: JsonMap, labels: JsonMap): boolean {
  const known = ['matchLabels', 'matchExpressions'];
  if (Object.keys(selector).some((key) => !known.includes(key)))
    throw new Error(`unknown selector: ${Object.keys(selector)}`);
  const equal = Object.entries(mapAt(selector, 'matchLabels')).every(([key, value]) => labels[key] === value);
  const within = listAt(selector, 'matchExpressions').every((expression) => {
    if (textAt(expression, 'operator') !== 'In')
      throw new Error('only expressions with In are supported here');
    return listAt(expression, 'values').includes(labels[textAt(expression, 'key') ?? ''] ?? null);
  });
  return equal && within;
}
