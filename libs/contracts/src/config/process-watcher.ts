import { z } from 'zod';
import { count, positiveInt, positiveSeconds, seconds } from './values.ts';

/** How commands run: `terminal`, `process` and agents of kind `command`. 0 means no limit, where 0 is allowed. */
export const processWatcherSchema = z.strictObject({
  /**
   * The user that commands run as. `auto`: if the service is root, each session gets its own user (ids from 200000);
   * otherwise the service's own user in namespaces (bubblewrap). If that is not possible, process-watcher refuses to start.
   * `same`: the service's own user, without isolation. A number: always this user.
   */
  run_as: z.union([z.enum(['auto', 'same']), z.number().int().positive()]).default('auto'),
  /** `host`: everything that the host reaches, including its own services. `none`: nothing. */
  network: z.enum(['host', 'none']).default('host'),
  /** What commands can read besides the system and the files of their session. Not used as root: file modes decide there. */
  read_paths: z.array(z.string().min(1)).default([]),
  /** Like `read_paths`, but commands can also write there. */
  write_paths: z.array(z.string().min(1)).default([]),
  /** Runs the command lines of the model. Default: bash, or sh if there is no bash. */
  shell: z.string().min(1).optional(),
  /** Added to the small clean environment of every command. Models can read it. */
  environment: z.record(z.string(), z.string()).default({}),
  /** Most commands at the same time, in the foreground and in the background. */
  max_processes: positiveInt.default(512),
  /** How much output of each command is kept. */
  output_bytes: positiveInt.min(65_536).default(4 * 1_048_576),
  /** A background process is ended after this long. */
  max_lifetime_seconds: positiveSeconds.default(86_400),
  /** A background process that prints nothing for this long is ended. */
  max_idle_seconds: seconds.default(0),
  /** Limit of CPU time, per process. */
  cpu_seconds: count.default(0),
  /** Limit of address space, per process. */
  memory_bytes: count.default(0),
  /**
   * Limit of memory for all commands of a session together, including daemons. Above it all of them are ended. The default
   * is less than the 4 GiB that our Compose file and manifests give to process-watcher with all its commands.
   */
  session_memory_bytes: count.default(3 * 1024 ** 3),
  /** The largest file that a command may write. */
  file_bytes: count.default(4 * 1024 ** 3),
  /** Most processes and threads: of one session if each has its own user (as root), of one command with bubblewrap. */
  max_user_processes: count.default(1024),
  /** How long the output of ended processes and the files of ended sessions are kept. */
  keep_hours: positiveSeconds.default(72),
  /** A watcher that has been silent for this long is gone for good, and its processes are lost. */
  host_lease_seconds: positiveSeconds.default(120),
});
