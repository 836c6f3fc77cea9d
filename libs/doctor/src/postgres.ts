import {
  CONNECTIONS_PER_SERVICE,
  type ExaminedDatabase,
  type ExaminedSchema,
  examineDatabase,
  type OpenWriter,
} from '@angelia/event-log/admin';
import { ledLoops } from '@angelia/event-log/leading';
import { type Finding, fault, ok, reasonOf, skipped, warning } from './finding.ts';

export interface PostgresOptions {
  readonly url: string | undefined;
  readonly timeoutMs: number;
  readonly now: () => number;
  /** The number of processes of all services. */
  readonly services: number;
  readonly longTransactionMs: number;
}

export async function postgresFindings(options: PostgresOptions): Promise<Finding[]> {
  if (options.url === undefined) {
    return [skipped('postgres', 'DATABASE_URL is not set, and there is no local stack here')];
  }
  let found: ExaminedDatabase;
  try {
    found = await examineDatabase({ url: options.url, timeoutMs: options.timeoutMs, now: options.now });
  } catch (error) {
    return [
      fault(
        'postgres',
        `cannot be reached: ${reasonOf(error)}`,
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
          `Postgres ${versionText} is too old: Angelia needs ${OLDEST} or newer`,
          'upgrade it (pg_upgrade, or dump and restore; then see docs/backup.md)',
        ),
    ...(inRecovery
      ? [
          fault(
            'postgres.primary',
            'this server is a replica and accepts no writes',
            'set DATABASE_URL to the primary, or promote this server',
          ),
        ]
      : []),
  ];
}

/** Invariant accepted-is-durable: a 2xx needs a commit that is on disk. */
function durabilityFindings({ settings }: ExaminedDatabase): Finding[] {
  const turnOn = (name: string) =>
    `ALTER SYSTEM SET ${name} = on; SELECT pg_reload_conf(); then restart Postgres if it was started with -c ${name}=off`;
  const isOn = (name: string, why: string): Finding =>
    settings[name] === 'on'
      ? ok(`postgres.${name}`, `${name} is on`)
      : fault(`postgres.${name}`, `${name} is ${settings[name]}: ${why}`, turnOn(name));
  return [
    isOn('fsync', 'a power failure can lose accepted webhooks, or the whole database'),
    isOn('full_page_writes', 'a power failure during a page write can make the log unreadable'),
    settings.synchronous_commit === 'off'
      ? warning(
          'postgres.synchronous_commit',
          'synchronous_commit is off: the services turn it on for their appends, but migrate and restore do not',
          turnOn('synchronous_commit'),
        )
      : ok('postgres.synchronous_commit', `synchronous_commit is ${settings.synchronous_commit}`),
  ];
}

/** Our transactions end after 10 s. This limit is for all others. */
const LONGEST_IDLE_MS = 300_000;

function idleTransactionFinding({ idleInTransactionMs }: ExaminedDatabase): Finding {
  const check = 'postgres.idle_in_transaction_session_timeout';
  if (idleInTransactionMs > 0 && idleInTransactionMs <= LONGEST_IDLE_MS) {
    return ok(check, `Postgres ends idle transactions after ${idleInTransactionMs / 1000} s`);
  }
  const what = idleInTransactionMs === 0 ? 'never' : `only after ${idleInTransactionMs / 1000} s`;
  return warning(
    check,
    `idle transactions end ${what}: a forgotten one that has written holds back the whole log until then`,
    "ALTER SYSTEM SET idle_in_transaction_session_timeout = '60s'; SELECT pg_reload_conf();",
  );
}

/** For people, backups and migrations. */
const SPARE_CONNECTIONS = 10;

function connectionsFinding({ connections }: ExaminedDatabase, services: number): Finding {
  const check = 'postgres.max_connections';
  const usable = connections.most - connections.reserved;
  const needed = services * CONNECTIONS_PER_SERVICE + SPARE_CONNECTIONS;
  const what = `${usable} connections, ${connections.open} open; ${services} service processes use up to ${services * CONNECTIONS_PER_SERVICE}`;
  if (usable >= needed) return ok(check, what);
  return warning(
    check,
    what,
    `ALTER SYSTEM SET max_connections = ${needed + connections.reserved}; then restart Postgres`,
  );
}

function rolesFinding({ roles }: ExaminedDatabase): Finding {
  const missing = Object.keys(roles).filter((role) => !roles[role]);
  if (missing.length === 0)
    return ok('postgres.roles', `the login has the roles ${Object.keys(roles).join(' and ')}`);
  return warning(
    'postgres.roles',
    `the login does not have the role ${missing.join(', ')}: Postgres does not keep services from changing events`,
    `as an administrator, run ${missing.map((role) => `CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO <login>;`).join(' ')} and migrate again`,
  );
}

const MIGRATE = 'node dist/migrate.js';
/** Less than a second is normal. */
const LATE_MS = 10_000;

function schemaFindings(schema: ExaminedSchema | null): Finding[] {
  if (schema === null || schema.migration < schema.neededMigration || schema.cluster === null) {
    const what =
      schema === null
        ? 'the database has no schema angelia'
        : `the schema is at migration ${schema.migration}, but this version needs ${schema.neededMigration}`;
    return [
      fault(
        'postgres.schema',
        what,
        `run \`${MIGRATE}\` with this DATABASE_URL (\`npm start\` does that itself)`,
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
        `the log was written in cluster ${known}, but this is ${actual}: it was restored or copied here, so services refuse to start`,
        `stop all services, then run \`${MIGRATE} --raise-epoch\` (docs/backup.md)`,
      ),
    ];
  }
  return [migrated, ok('postgres.cluster', 'the log was written in this cluster'), ...workFindings(schema)];
}

function workFindings({ health, leaders }: ExaminedSchema): Finding[] {
  const unled = ledLoops.filter((loop) => !leaders.some(({ name }) => name === loop));
  const late = [
    ['tail', health?.tailLagMs ?? 0, 'an open transaction hides events: see postgres.transactions'],
    ['relay', health?.relayLagMs ?? 0, 'events get no hints: check NATS and the leader of the relay'],
    [
      'projection',
      health?.projectionLagMs ?? 0,
      'lists are out of date: look at the log of the leader of the projection',
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
          `no service leads ${unled.join(', ')}`,
          'start ingress, agent-runner or delivery: each of them can lead all of these',
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
          `${dead >= 1000 ? 'at least 1000' : dead} events could not be processed`,
          'run `angelia dead-letters`: it shows the reasons, and `angelia dead-letters replay` tries them again',
        ),
  ];
}

function writersFinding({ writers, schema }: ExaminedDatabase, longMs: number): Finding {
  const check = 'postgres.transactions';
  // Postgres may hide how long another user's transaction is open. Then the lag of the tail decides.
  const tailIsHeld = (schema?.health?.tailLagMs ?? 0) > longMs;
  const long = writers.filter(({ openMs }) => (openMs === null ? tailIsHeld : openMs > longMs));
  if (long.length === 0) return ok(check, 'no open transaction holds back the log');
  const sessions = long.flatMap(({ pid }) => (pid === null ? [] : [`SELECT pg_terminate_backend(${pid});`]));
  const prepared = long.some(({ pid }) => pid === null)
    ? ['run ROLLBACK PREPARED for the prepared transaction']
    : [];
  return fault(
    check,
    `${long.map(describe).join('; ')}: later events wait behind it in the log`,
    `end it: ${[...sessions, ...prepared].join(' ')}`,
  );
}

function describe({ pid, user, application, database, state, openMs }: OpenWriter): string {
  const who =
    pid === null ? `prepared transaction "${application}"` : `session ${pid} (${application || 'unnamed'})`;
  const since = openMs === null ? '' : ` for ${Math.round(openMs / 1000)} s`;
  return `${who} of ${user} in ${database} has written and is ${state}${since}`;
}

/** Signatures allow minutes of difference, but the times in logs, traces and retries should agree. */
const CLOCK_OFF_MS = 2_000;
/** Linear allows a minute. The sender's clock may use up half of it. */
const CLOCK_WRONG_MS = 30_000;

function clockFinding({ clockAheadMs, roundTripMs }: ExaminedDatabase): Finding {
  const certainMs = Math.abs(clockAheadMs) - roundTripMs / 2;
  const direction = clockAheadMs > 0 ? 'behind' : 'ahead of';
  if (certainMs < CLOCK_OFF_MS) return ok('clock', "this machine's clock agrees with the database's");
  const what = `this machine's clock is ${(Math.abs(clockAheadMs) / 1000).toFixed(1)} s ${direction} the database's`;
  const todo = 'run a time service (chrony, systemd-timesyncd) on both machines';
  return certainMs < CLOCK_WRONG_MS
    ? warning('clock', what, todo)
    : fault('clock', `${what}: ingress refuses signatures with a timestamp`, todo);
}
