import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isService, type LocalProgram, type LocalStack, SERVICES } from '@angelia/doctor/local-stack';
import { CliError } from '../exit.ts';
import { keptPorts, localUrl, readIfThere } from './files.ts';

/** The services of the local stack that its launcher has started. */
export function servicesIn(dataDirectory: string): LocalProgram[] {
  const { programs } = readLocalStack(dataDirectory);
  return SERVICES.flatMap((service) => (programs ?? []).filter(({ name }) => isService(service, name)));
}

/**
 * What `npm start` keeps in `$ANGELIA_DATA` (INTERFACES.md, "Local stack files"), so that `angelia doctor` needs no
 * settings on the machine where the stack runs. Whoever may read the directory may read the secrets in it.
 */
export function readLocalStack(dataDirectory: string): LocalStack {
  const base = resolve(dataDirectory);
  const kept = (name: string): string | undefined =>
    leniently(() => readIfThere(join(base, name)))?.trim() || undefined;
  const ports = leniently(() => keptPorts(base)) ?? {};
  const environment = {
    DATABASE_URL: leniently(() => localUrl(base, 'postgres')),
    NATS_URL: leniently(() => localUrl(base, 'nats')),
    ANGELIA_MASTER_KEY: kept('etc/master-key'),
    ANGELIA_ADMIN_TOKEN: kept('admin-token'),
    ANGELIA_DEMO_SECRET: kept('etc/demo-secret'),
  };
  return {
    dataDirectory: base,
    programs: programsIn(join(base, 'run'), ports),
    keptIngressPort: ports.ingress,
    environment: Object.fromEntries(
      Object.entries(environment).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    ),
  };
}

function programsIn(run: string, ports: Readonly<Record<string, number>>): LocalProgram[] | null {
  const files = namesIn(run);
  if (files === null) return null;
  return files
    .filter((file) => file.endsWith('.pid'))
    .map((file) => {
      const name = file.slice(0, -'.pid'.length);
      return {
        name,
        running: isAlive(Number(leniently(() => readIfThere(join(run, file))))),
        adminPort: ports[`${name}.admin`],
      };
    })
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** Null if the directory is missing or not readable. */
function namesIn(directory: string): string[] | null {
  try {
    return readdirSync(directory);
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // it runs as another user
  }
}

/**
 * Null also for a file that cannot be read or is half written. Other commands fail on such a file; doctor goes on, and the
 * environment has to supply the value.
 */
function leniently<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof CliError) return null;
    throw error;
  }
}
