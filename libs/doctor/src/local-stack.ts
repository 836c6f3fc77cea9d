/** What a local stack keeps in its data directory, as far as the checks use it. libs/cli reads it from the files. */
export interface LocalStack {
  readonly dataDirectory: string;
  /** Null if no stack was ever started on this directory. */
  readonly programs: readonly LocalProgram[] | null;
  /** Where ingress listens when ANGELIA_PORT is 0. */
  readonly keptIngressPort: number | undefined;
  /** The variables that the launcher gives to the services, unless the environment sets them. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface LocalProgram {
  /** `ingress`, `agent-runner-2`, `postgres`. */
  readonly name: string;
  readonly running: boolean;
  readonly adminPort: number | undefined;
}

/** In the order in which they are restarted. */
export const SERVICES = ['ingress', 'agent-runner', 'delivery', 'process-watcher'] as const;

/** Whether a program is this service, or a replica of it: `agent-runner-2`. */
export function isService(service: string, name: string): boolean {
  return name === service || (name.startsWith(`${service}-`) && /^\d+$/.test(name.slice(service.length + 1)));
}
