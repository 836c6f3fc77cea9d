import {
  CONNECTIONS_PER_SERVICE,
  type ExaminedDatabase,
  type ExaminedSchema,
  examineDatabase,
  type OpenWriter,
} from '@angelia/event-log/admin';
import type { LedLoop } from '@angelia/service-kit/leading';
import { type Finding, fault, ok, reasonOf, skipped, warning } from './finding.ts';

export interface PostgresOptions {
  readonly url: string | undefined;
  readonly timeoutMs: number;
  readonly now: () => number;
  /** Processes of all services together. */
  readonly services: number;
  readonly longTransactionMs: number;
}

export async function postgresFindings(options: PostgresOptions): Promise<Finding[]> {
  if (options.url === undefined) {
    return [skipped('postgres', 'DATABASE_URL is not set, and no local stack keeps one here')];
  }
  let found: ExaminedDatabase;
  try {
    found = await examineDatabase({ url: options.url, timeoutMs: options.timeoutMs, now: options.now });
  } catch (error) {
    return [
      fault(
        'postgres',
        `cannot be asked: ${reasonOf(error)}`,
        'start Postgres, or correct DATABASE_URL (host, port, user, password, database)',
      ),
    ];
  }
  return [
    ...serverFindings(found),
    ...durabilityFindings(found),
    idleTransactionFinding(found),
    connectionsFinding(found, options.services),
    rolesFinding(found),
    ...schemaFindings(found.schema),
    writersFinding(found, options.longTransactionMs),
    clockFinding(found),
  ];
}

const OLDEST = 14;

function serverFindings({ version, versionText, inRecovery }: ExaminedDatabase): Finding[] {
  const major = Math.floor(version / 10_000);
  return [
    major >= OLDEST
      ? ok('postgres', `Postgres ${versionText}`)
      : fault(
          'postgres',
          `Postgres ${versionText} is too old: ${OLDEST} or newer is needed`,
          'upgrade it (pg_upgrade, or dump and restore; then docs/backup.md)',
        ),
    ...(inRecovery
      ? [
          fault(
            'postgres.primary',
            'this server is a replica and takes no writes',
            'point DATABASE_URL at the primary, or promote this one',
          ),
        ]
      : []),
  ];
}

/** Invariant accepted-is-durable: a 2xx is only true when a commit is on disk. */
function durabilityFindings({ settings }: ExaminedDatabase): Finding[] {
  const turnOn = (name: string) =>
    `ALTER SYSTEM SET ${name} = on; SELECT pg_reload_conf(); then restart Postgres if it was started with -c ${name}=off`;
  const isOn = (name: string, why: string): Finding =>
    settings[name] === 'on'
      ? ok(`postgres.${name}`, `${name} is on`)
      : fault(`postgres.${name}`, `${name} is ${settings[name]}: ${why}`, turnOn(name));
  return [
    isOn('fsync', 'a power failure loses webhooks that were answered with 2xx, or the whole database'),
    isOn('full_page_writes', 'a power failure in the middle of a page leaves the log unreadable'),
    settings.synchronous_commit === 'off'
      ? warning(
          'postgres.synchronous_commit',
          'synchronous_commit is off: appends of the services set it themselves, other writers (migrate, restore) do not',
          turnOn('synchronous_commit'),
        )
      : ok('postgres.synchronous_commit', `synchronous_commit is ${settings.synchronous_commit}`),
  ];
}

/** Ours end after 10 s by themselves; this is for everybody else's. */
const LONGEST_IDLE_MS = 300_000;

function idleTransactionFinding({ idleInTransactionMs }: ExaminedDatabase): Finding {
  const check = 'postgres.idle_in_transaction_session_timeout';
  if (idleInTransactionMs > 0 && idleInTransactionMs <= LONGEST_IDLE_MS) {
    return ok(check, `idle transactions are ended after ${idleInTransactionMs / 1000} s`);
  }
  const what = idleInTransactionMs === 0 ? 'never ended' : `ended after ${idleInTransactionMs / 1000} s only`;
  return warning(
    check,
    `idle transactions are ${what}: a forgotten one that has written holds back the whole log meanwhile`,
    "ALTER SYSTEM SET idle_in_transaction_session_timeout = '60s'; SELECT pg_reload_conf();",
  );
}

/** For people, backups and migrations beside the services. */
const SPARE_CONNECTIONS = 10;

function connectionsFinding({ connections }: ExaminedDatabase, services: number): Finding {
  const check = 'postgres.max_connections';
  const usable = connections.most - connections.reserved;
  const needed = services * CONNECTIONS_PER_SERVICE + SPARE_CONNECTIONS;
  const what = `${usable} connections for all, ${connections.open} open; ${services} service processes take up to ${services * CONNECTIONS_PER_SERVICE}`;
  if (usable >= needed) return ok(check, what);
  return warning(
    check,
    what,
    `ALTER SYSTEM SET max_connections = ${needed + connections.reserved}; and restart Postgres`,
  );
}

function rolesFinding({ roles }: ExaminedDatabase): Finding {
  const missing = Object.keys(roles).filter((role) => !roles[role]);
  if (missing.length === 0)
    return ok('postgres.roles', `the login can take ${Object.keys(roles).join(' and ')}`);
  return warning(
    'postgres.roles',
    `the login cannot take ${missing.join(', ')}: nothing but our own code keeps events from being changed`,
    `as an administrator: ${missing.map((role) => `CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO <login>;`).join(' ')} then migrate`,
  );
}

const MIGRATE = 'node dist/migrate.js';
const LED_LOOPS = ['agenda', 'projection', 'prune', 'relay'] as const satisfies readonly LedLoop[];
/** Normal is below a second. */
const LATE_MS = 10_000;

function schemaFindings(schema: ExaminedSchema | null): Finding[] {
  if (schema === null || schema.migration < schema.neededMigration || schema.cluster === null) {
    const what =
      schema === null
        ? 'the database has no schema angelia'
        : `the schema is at migration ${schema.migration}, and ${schema.neededMigration} is needed`;
    return [
      fault(
        'postgres.schema',
        what,
        `run \`${MIGRATE}\` with this DATABASE_URL (\`npm start\` does it by itself)`,
      ),
    ];
  }
  const migrated = ok('postgres.schema', `migrated (${schema.migration}), epoch ${schema.cluster.epoch}`);
  const { known, actual } = schema.cluster;
  if (known !== actual) {
    return [
      migrated,
      fault(
        'postgres.cluster',
        `the log was written in cluster ${known}, and this is ${actual}: it was restored or copied here, and services refuse to start`,
        `stop all services, then run \`${MIGRATE} --raise-epoch\` (docs/backup.md)`,
      ),
    ];
  }
  return [migrated, ok('postgres.cluster', 'the log was written in this cluster'), ...workFindings(schema)];
}

function workFindings({ health, leaders }: ExaminedSchema): Finding[] {
  const unled = LED_LOOPS.filter((duty) => !leaders.some(({ name }) => name === duty));
  const late = [
    ['tail', health?.tailLagMs ?? 0, 'events are hidden by an open transaction (see postgres.transactions)'],
    ['relay', health?.relayLagMs ?? 0, 'events are not hinted: look at NATS and at who leads the relay'],
    [
      'projection',
      health?.projectionLagMs ?? 0,
      'lists are behind: look at the logs of who leads the projection',
    ],
  ] as const;
  const dead = health?.deadLetters ?? 0;
  return [
    unled.length === 0
      ? ok(
          'duties',
          `led: ${leaders.map(({ name, holder }) => `${name} by ${holder.replace(/#.*$/, '')}`).join(', ')}`,
        )
      : fault(
          'duties',
          `nobody leads ${unled.join(', ')}`,
          'start the services; each of them can lead all duties',
        ),
    ...late.map(([name, lagMs, todo]) =>
      lagMs <= LATE_MS
        ? ok(`lag.${name}`, `${lagMs} ms behind`)
        : warning(`lag.${name}`, `${Math.round(lagMs / 1000)} s behind`, todo),
    ),
    dead === 0
      ? ok('dead-letters', 'none')
      : warning(
          'dead-letters',
          `${dead >= 1000 ? 'at least 1000' : dead} events could not be handled`,
          'see `angelia dead-letters`: each has its reason and can be tried again',
        ),
  ];
}

function writersFinding({ writers, schema }: ExaminedDatabase, longMs: number): Finding {
  const check = 'postgres.transactions';
  // How long another's is open may be hidden from us; then what it does to the tail counts.
  const tailIsHeld = (schema?.health?.tailLagMs ?? 0) > longMs;
  const long = writers.filter(({ openMs }) => (openMs === null ? tailIsHeld : openMs > longMs));
  if (long.length === 0) return ok(check, 'no open transaction holds back the log');
  const sessions = long.flatMap(({ pid }) => (pid === null ? [] : [`SELECT pg_terminate_backend(${pid});`]));
  const prepared = long.some(({ pid }) => pid === null) ? ['ROLLBACK PREPARED what is left prepared'] : [];
  return fault(
    check,
    `${long.map(describe).join('; ')}: what is committed meanwhile waits in the log behind it`,
    `end what holds it: ${[...sessions, ...prepared].join(' ')}`,
  );
}

function describe({ pid, user, application, database, state, openMs }: OpenWriter): string {
  const who =
    pid === null ? `prepared transaction "${application}"` : `session ${pid} (${application || 'unnamed'})`;
  const since = openMs === null ? '' : ` for ${Math.round(openMs / 1000)} s`;
  return `${who} of ${user} in ${database} has written and is ${state}${since}`;
}

/** Timestamps of signatures may be minutes off; but the times in logs, traces and retries should agree. */
const CLOCK_OFF_MS = 2_000;
/** Linear allows a minute; half of it may be the sender's. */
const CLOCK_WRONG_MS = 30_000;

function clockFinding({ clockAheadMs, roundTripMs }: ExaminedDatabase): Finding {
  const certainMs = Math.abs(clockAheadMs) - roundTripMs / 2;
  const direction = clockAheadMs > 0 ? 'behind' : 'ahead of';
  if (certainMs < CLOCK_OFF_MS) return ok('clock', "this machine's clock agrees with the database's");
  const what = `this machine's clock is ${(Math.abs(clockAheadMs) / 1000).toFixed(1)} s ${direction} the database's`;
  const todo = 'run a time service (chrony, systemd-timesyncd) on both machines';
  return certainMs < CLOCK_WRONG_MS
    ? warning('clock', what, todo)
    : fault('clock', `${what}: signatures with a timestamp are refused`, todo);
}
