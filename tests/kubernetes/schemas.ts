import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { idOf, type KubernetesObject } from './object.ts';
import { repository } from './overlays.ts';

/**
 * The schemas of Kubernetes, KEDA and the Prometheus operator, from packages that are generated from their OpenAPI documents,
 * in two forms. Validators check types, formats, enums and required fields, but accept unknown fields. Type declarations know
 * every field, and the compiler refuses a literal with another one, which finds a misspelt field.
 */
const packages: Readonly<Record<string, string>> = {
  'keda.sh/v1alpha1': '@kubernetes-models/keda',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator',
};

function moduleOf({ apiVersion }: KubernetesObject): string {
  return `${packages[apiVersion] ?? 'kubernetes-models'}/${apiVersion}`;
}

type Model = new (data: KubernetesObject) => { validate(): void };

/** Null if the validator of its kind accepts it. */
export async function validatorProblem(object: KubernetesObject): Promise<string | null> {
  const { kind } = object;
  const models = (await import(`${moduleOf(object)}/${kind}`)) as Readonly<Record<string, Model>>;
  const model = models[kind];
  if (model === undefined) return `${idOf(object)}: there is no schema of ${kind} ${object.apiVersion}`;
  try {
    new model(object).validate();
    return null;
  } catch (error) {
    return `${idOf(object)}: ${(error as Error).message}`;
  }
}

/** Compiles each object as a literal of its declared type, all in one call of the compiler. */
export async function typeProblems(objects: readonly KubernetesObject[]): Promise<string[]> {
  const scratch = join(repository, 'tests', 'node_modules', '.cache');
  mkdirSync(scratch, { recursive: true });
  // Below tests/, so that the compiler finds the packages.
  const directory = mkdtempSync(join(scratch, 'kubernetes-'));
  try {
    for (const [index, object] of objects.entries()) {
      const literal = JSON.stringify(object, null, 1);
      writeFileSync(
        join(directory, `${index}.ts`),
        `import type { I${object.kind} } from '${moduleOf(object)}';\nexport const object: I${object.kind} = ${literal};\n`,
      );
    }
    const compilerOptions = { strict: true, noEmit: true, module: 'nodenext', skipLibCheck: true, types: [] };
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    const output = await compile(directory);
    return output
      .split('\n')
      .filter((line) => line.includes('error TS'))
      .map((line) => {
        const index = /(\d+)\.ts\(/.exec(line)?.[1];
        const object = index === undefined ? undefined : objects[Number(index)];
        return `${object === undefined ? 'tsc' : idOf(object)}: ${line.slice(line.indexOf('error TS'))}`;
      });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function compile(directory: string): Promise<string> {
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
  try {
    return (await promisify(execFile)(process.execPath, [tsc, '-p', directory])).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    // A failure without a finding means that the compiler did not run.
    if (stdout === undefined || !stdout.includes('error TS')) throw new Error(`tsc: ${stderr ?? error}`);
    return stdout;
  }
}
