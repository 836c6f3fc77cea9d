import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * What `npm start` left in `$ANGELIA_DATA` (INTERFACES.md, "Local stack files"), so that `angelia doctor` needs no
 * setting on the machine where the stack runs. Secrets that are kept there open to whoever may read the directory.
 */
export interface LocalStack {
  readonly dataDirectory: string;
  /** Null: no stack was ever started on this directory. */
  readonly programs: readonly LocalProgram[] | null;
  /** Where ingress listens when it was given port 0. */
  readonly keptIngressPort: number | undefined;
  /** What the launcher hands to the services, unless the environment says otherwise. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface LocalProgram {
  /** `ingress`, `agent-runner-2`, `postgres`. */
  readonly name: string;
  readonly running: boolean;
  readonly adminPort: number | undefined;
}

const LOGIN = 'angelia';

export function readLocalStack(dataDirectory: string): LocalStack {
  const base = resolve(dataDirectory);
  const kept = (name: string): string | undefined => readIfThere(join(base, name))?.trim() || undefined;
  const ports = portsIn(kept('etc/ports.json'));
  const url = (scheme: string, program: string, path: string): string | undefined => {
    const password = kept(`etc/${program}-password`);
    const port = ports[program];
    if (password === undefined || port === undefined) return undefined;
    return `${scheme}://${LOGIN}:${encodeURIComponent(password)}@127.0.0.1:${port}${path}`;
  };
  const environment = {
    DATABASE_URL: url('postgres', 'postgres', `/${LOGIN}`),
    NATS_URL: url('nats', 'nats', ''),
    ANGELIA_MASTER_KEY: kept('etc/master-key'),
    ANGELIA_ADMIN_TOKEN: kept('admin-token'),
    ANGELIA_DEMO_SECRET: kept('etc/demo-secret'),
  };
  return {
    dataDirectory: base,
    programs: programsIn(join(base, 'run'), ports),
    keptIngressPort: ports.ingress,
    environment: Object.fromEntries(
      Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
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
        running: isAlive(Number(readIfThere(join(run, file)))),
        adminPort: ports[`${name}.admin`],
      };
    })
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** Null: not there, or another user's. */
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
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // there, and another user's
  }
}

function portsIn(text: string | undefined): Record<string, number> {
  try {
    const parsed: unknown = JSON.parse(text ?? '{}');
    const entries = typeof parsed === 'object' && parsed !== null ? Object.entries(parsed) : [];
    return Object.fromEntries(
      entries.filter((entry): entry is [string, number] => Number.isInteger(entry[1])),
    );
  } catch {
    return {}; // half a file: the launcher makes it anew, and the services are asked for anyway
  }
}

/** Undefined also when it is another user's: then the environment has to say it. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
