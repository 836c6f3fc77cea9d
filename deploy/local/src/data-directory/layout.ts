import { chmod, mkdir, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const repositoryRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..');
export const packageRoot = join(repositoryRoot, 'deploy', 'local');

/** The directories under `$ANGELIA_DATA` (INTERFACES.md, "Local stack files"). */
export interface Layout {
  readonly dataDir: string;
  /** Pid files and the launcher's lock. */
  readonly run: string;
  readonly logs: string;
  /** What is generated once and kept: ports, passwords, the NATS config. */
  readonly etc: string;
  readonly postgres: string;
  /** Only the JetStream store, which may be deleted at any time. */
  readonly nats: string;
  readonly processes: string;
}

export function layoutOf(dataDir: string): Layout {
  const base = resolve(dataDir);
  return {
    dataDir: base,
    run: join(base, 'run'),
    logs: join(base, 'logs'),
    etc: join(base, 'etc'),
    postgres: join(base, 'postgres'),
    nats: join(base, 'nats'),
    processes: join(base, 'processes'),
  };
}

export async function makeLayout(dataDir: string): Promise<Layout> {
  await mkdir(dataDir, { recursive: true });
  // Without symbolic links, so that paths can be compared with what the kernel reports about a process.
  const layout = layoutOf(await realpath(dataDir));
  for (const dir of [layout.run, layout.logs, layout.etc, layout.processes]) {
    await mkdir(dir, { recursive: true });
  }
  await chmod(layout.etc, 0o700);
  // Agents' commands run as other users, who may pass through the data directory to their own files but read nothing else.
  await chmod(layout.logs, 0o700);
  return layout;
}
