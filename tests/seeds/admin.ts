import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { EventView, TestStack } from '@angelia/testkit';

const run = promisify(execFile);
const PRUNE = resolve(import.meta.dirname, '../../dist/prune.js');
/** A tenth of a second, in days, so that every ended session is old enough. */
const AT_ONCE = '0.000001';

/** Calls /v1 with the operator's token. */
export async function adminCall(
  stack: TestStack,
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(new URL(path, stack.baseUrl), {
    method,
    headers: {
      authorization: `Bearer ${stack.adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
  };
}

/** Sends a message and returns the id of the session that took it. */
export async function message(stack: TestStack, id: string, text: string): Promise<string> {
  const taken = await adminCall(stack, 'POST', `/v1/sessions/${id}/messages`, { text });
  if (taken.status !== 202) throw new Error(`the message was refused: ${JSON.stringify(taken)}`);
  return String(taken.body.session_id);
}

/** Prunes ended sessions with the operator's command, and returns how many. */
export async function prune(stack: TestStack): Promise<number> {
  const { stdout, stderr } = await run(process.execPath, [PRUNE, AT_ONCE], {
    env: {
      ...process.env,
      DATABASE_URL: stack.postgresUrl,
      ANGELIA_CONFIG: join(stack.dataDir, 'angelia.yaml'),
    },
  });
  const [, sessions] = /pruned (\d+) sessions/.exec(stdout + stderr) ?? [];
  if (sessions === undefined) throw new Error(`unexpected output of prune: ${stdout}${stderr}`);
  return Number(sessions);
}

export async function isGone(stack: TestStack, id: string): Promise<boolean> {
  const response = await fetch(new URL(`/v1/sessions/${id}`, stack.baseUrl), {
    headers: { authorization: `Bearer ${stack.adminToken}` },
  });
  await response.text();
  return response.status === 404;
}

export const eventsOf = (events: readonly EventView[], type: string): EventView[] =>
  events.filter((event) => event.type === type);

/** The instance that started the last run: `agent-runner` or `agent-runner-2`. */
export const runnerOf = (events: readonly EventView[]): string =>
  String(eventsOf(events, 'run.started').at(-1)?.data.runner).split('#')[0] ?? '';
