import { fileURLToPath } from 'node:url';
import { commandVariables } from '@angelia/config/command-variables';

/** Set for ourselves: the environment has been looked through. */
const BARE = 'ANGELIA_ENVIRONMENT_IS_BARE';

/** What this service reads itself, and what Node and OpenTelemetry do. */
const OWN =
  /^(ANGELIA_|OTEL_|NODE_|LC_|PG|SSL_CERT_)|^(PATH|HOME|LANG|TZ|TMPDIR|HOSTNAME|DATABASE_URL|NATS_URL)$/;
/** Of the services that need them. */
const NOT_OURS = new Set(['ANGELIA_ADMIN_TOKEN', 'ANGELIA_MASTER_KEY', 'ANGELIA_DEMO_SECRET']);

/**
 * The services of one installation are mostly given one environment, with the keys of models and platforms in it. The
 * one that runs the model's commands does not keep them: it becomes itself again (same pid) with what it needs, so that
 * they are not in /proc/<pid>/environ or in its memory either. Variables that `agents` and `process_watcher` in the
 * config name are kept.
 */
export function shedForeignVariables(mainUrl: string): void {
  if (process.env[BARE] !== undefined || process.execve === undefined) return;
  let named: ReadonlySet<string>;
  try {
    named = commandVariables(process.env);
  } catch {
    return; // It is told where the config is loaded for good.
  }
  const kept = Object.entries(process.env).filter(
    ([name]) => named.has(name) || (OWN.test(name) && !NOT_OURS.has(name)),
  );
  if (kept.length === Object.keys(process.env).length) return;
  process.execve(
    process.execPath,
    [process.execPath, ...process.execArgv, fileURLToPath(mainUrl)],
    Object.fromEntries([...kept, [BARE, 'yes']]) as NodeJS.ProcessEnv,
  );
}
