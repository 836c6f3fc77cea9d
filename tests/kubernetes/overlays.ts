import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { isObject, type KubernetesObject } from './object.ts';

export const repository = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const kubernetes = join(repository, 'deploy', 'kubernetes');

/** What a user can apply. `production` comes with its own components, or with those that its comments offer instead. */
export const variants = {
  dev: null,
  production: null,
  'production without KEDA': ['hpa-ingress', 'hpa-workers'],
  'production with plain-replicas': ['plain-replicas'],
  'production with pod-monitor': ['hpa-ingress', 'keda-workers', 'pod-monitor'],
  'production with unprivileged-watcher': ['hpa-ingress', 'keda-workers', 'unprivileged-watcher'],
  'production with watcher-egress': ['hpa-ingress', 'keda-workers', 'watcher-egress'],
} as const satisfies Record<string, readonly string[] | null>;
export type Variant = keyof typeof variants;
export const variantNames = Object.keys(variants) as Variant[];

const rendered = new Map<Variant, string>();

/** The objects that `kubectl apply -k` would send. Without kubectl, jest.config.mjs leaves these tests out. */
export function renderVariant(variant: Variant): KubernetesObject[] {
  const text = rendered.get(variant) ?? inVariant(variant, kustomize);
  rendered.set(variant, text);
  const objects = parseAllDocuments(text).map((document) => document.toJS() as unknown);
  if (!objects.every(isObject))
    throw new Error(`${variant}: kubectl rendered something that is not an object`);
  return objects;
}

const kustomize = (directory: string): string =>
  execFileSync(process.env.ANGELIA_TEST_KUBECTL ?? 'kubectl', ['kustomize', directory], { encoding: 'utf8' });

/** As a user does it: copies the overlay's directory and changes the components. */
function inVariant<T>(variant: Variant, work: (directory: string) => T): T {
  const components = variants[variant];
  if (components === null) return work(join(kubernetes, 'overlays', variant));
  const scratch = join(repository, '.cache', 'kubernetes');
  mkdirSync(scratch, { recursive: true });
  const directory = mkdtempSync(join(scratch, 'variant-'));
  try {
    cpSync(join(kubernetes, 'overlays', 'production'), directory, { recursive: true });
    const file = join(directory, 'kustomization.yaml');
    const path = (to: string) => join(relative(directory, kubernetes), to);
    const written = parse(readFileSync(file, 'utf8')) as { resources: string[]; components: string[] };
    written.resources = written.resources.map((entry) => entry.replace(/^\.\.\/\.\./, path('.')));
    written.components = components.map((name) => path(`components/${name}`));
    writeFileSync(file, stringify(written));
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
