import { pause } from '@angelia/waiting';
import type pg from 'pg';
import { PRUNER_ROLE, SERVICE_ROLE } from '../connection/database.ts';
import { messageOf } from '../connection/postgres-errors.ts';

export const MIGRATOR_ROLE = 'angelia_migrator';
const ROLES = [MIGRATOR_ROLE, SERVICE_ROLE, PRUNER_ROLE];

/** Another database of the same cluster does the same: roles belong to the cluster, our lock to the database. */
const RACES = new Set(['42710', '23505', 'XX000']);
const TRIES = 20;

/**
 * Services append and read, the pruner deletes, the migrator owns. Returns null if the login can take the roles. Else
 * returns one line that says what is missing, and the work goes on with the login's own rights.
 */
export async function ensureRoles(client: pg.ClientBase): Promise<string | null> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      for (const role of ROLES) await ensureRole(client, role);
      return null;
    } catch (error) {
      const code = (error as { code?: string }).code ?? '';
      if (RACES.has(code) && attempt < TRIES) {
        await pause(5 * attempt);
        continue;
      }
      if (code !== '42501' && code !== '42704') throw error;
      return (
        `the login can neither create nor take the roles ${ROLES.join(', ')} (${messageOf(error)}); continuing with ` +
        "the login's own rights, so only this program protects events from changes; have an administrator create " +
        'the roles and grant them to the login'
      );
    }
  }
}

async function ensureRole(client: pg.ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ exists: boolean; usable: boolean; login: string }>(
    `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS exists, session_user AS login,
            CASE WHEN EXISTS (SELECT FROM pg_roles WHERE rolname = $1)
                 THEN (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) OR pg_has_role(session_user, $1, 'MEMBER')
                 ELSE false END AS usable`,
    [role],
  );
  const found = rows[0];
  if (!found?.exists) await client.query(`CREATE ROLE ${role} NOLOGIN`);
  // From Postgres 16 on, whoever creates a role may grant it, but is not a member and cannot take it.
  if (!found?.usable || !(await canTakeRole(client, role))) {
    await client.query(`GRANT ${role} TO "${(found?.login ?? '').replaceAll('"', '""')}"`);
  }
}

export async function canTakeRole(client: pg.ClientBase, role: string): Promise<boolean> {
  try {
    await client.query(`SET ROLE ${role}`);
    await client.query('RESET ROLE');
    return true;
  } catch {
    return false;
  }
}

/** Idempotent. Runs after every migration and every switch of the views. Needs the roles, not membership in them. */
export async function grantRights(client: pg.ClientBase, viewSchemas: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ rolname: string }>(
    'SELECT rolname FROM pg_roles WHERE rolname = ANY ($1)',
    [ROLES],
  );
  const roles = rows.map((row) => row.rolname);
  const grants: string[] = [];
  for (const role of [SERVICE_ROLE, PRUNER_ROLE].filter((name) => roles.includes(name))) {
    grants.push(
      `GRANT USAGE ON SCHEMA angelia TO ${role}`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA angelia TO ${role}`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON angelia.idempotency_keys, angelia.leases, angelia.leaders, angelia.rate_limits,
         angelia.send_turns, angelia.checkpoints, angelia.dead_letters, angelia.unstarted_webhook_counts, angelia.unstarted_webhooks,
         angelia.console_sessions, angelia.console_links TO ${role}`,
      `GRANT USAGE ON SEQUENCE angelia.lead_epochs TO ${role}`,
    );
    for (const schema of viewSchemas) {
      grants.push(
        `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
        `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
      );
    }
  }
  if (roles.includes(SERVICE_ROLE)) grants.push(`GRANT INSERT ON angelia.events TO ${SERVICE_ROLE}`);
  if (roles.includes(PRUNER_ROLE)) grants.push(`GRANT DELETE ON angelia.events TO ${PRUNER_ROLE}`);
  if (grants.length > 0) await client.query(grants.join(';\n'));
}
