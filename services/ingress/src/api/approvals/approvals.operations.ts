import { z } from 'zod';
import { answer, component, operation, pageFields } from '../../http/operation.ts';
import { cursor, limit, routeName } from '../../http/parse-request.ts';
import { sessionIdJson } from '../sessions/session-id.ts';

const time = z.iso.datetime();
const count = z.number().int().nonnegative();

export const approvalsQuery = z.strictObject({
  route: routeName.optional(),
  count: z
    .enum(['true', 'false'])
    .optional()
    .transform((given) => given === 'true')
    .describe('also count the open requests'),
  limit,
  cursor,
});

export const shown = component(
  'ShownArguments',
  z.object({
    command: z.string().nullable().describe('the command line of `terminal`; null: the tool has none'),
    others: z.string().nullable().describe('the other arguments as canonical JSON; null: there are none'),
  }),
);

export type OpenApprovalJson = z.infer<typeof openApproval>;
const openApproval = component(
  'OpenApproval',
  z.object({
    id: z.string().describe('`<session id>.<n>`'),
    session_id: z.uuid(),
    title: z.string().describe('of the session'),
    route: z.string(),
    agent: z.string(),
    turn: z.number().int().positive(),
    call_id: z.string(),
    tool: z.string(),
    arguments: z
      .string()
      .describe('JSON, exactly as the model wrote it: this is what runs if it is approved'),
    shown: shown.describe(
      'the arguments for a person: characters that hide or reverse text are shown as codes',
    ),
    digest: z.string().describe('SHA-256 of the arguments as canonical JSON'),
    rule: z
      .object({ tool: z.string(), match: z.string().nullable() })
      .describe('the rule that asks; an approval for the session is for this rule and tool'),
    approvers: z
      .array(z.string())
      .describe('who may decide besides this API; empty: whoever has the link or may speak in the chat'),
    asked_at: time,
    expires_at: time.describe('without a decision by then the call is not carried out'),
  }),
);

const approvalPage = component(
  'OpenApprovalPage',
  pageFields(openApproval).extend({
    count: count.optional().describe('only with `count=true`'),
    count_exact: z.boolean().optional().describe('false: at least `count`'),
  }),
);

/** What the model reads as the reason. */
const LONGEST_REASON = 2_000;

const decisionFields = {
  decision: z.enum(['approve', 'deny']),
  reason: z.string().max(LONGEST_REASON).optional().describe('the model reads it if the call is denied'),
  scope: z
    .enum(['once', 'session'])
    .default('once')
    .describe('`session`: also later calls of this tool in this session that the same rule asks about'),
  digest: z
    .string()
    .optional()
    .describe('of the arguments that were read: refused if the request has others'),
};

export const newDecision = component('NewDecision', z.strictObject(decisionFields));

export type ClosedApprovalJson = z.infer<typeof closedApproval>;
const closedApproval = component(
  'ClosedApproval',
  z.object({
    error: z.string(),
    reason: z.enum(['decided', 'expired', 'superseded', 'ended', 'arguments_changed']),
    decided: z
      .object({
        by: z.string().describe('the actor'),
        at: time,
        decision: z.enum(['approve', 'deny']),
        scope: z.enum(['once', 'session']),
        reason: z.string().nullable(),
      })
      .nullable()
      .describe('if somebody decided'),
  }),
);

export const approvalOperations = [
  operation({
    method: 'get',
    path: '/v1/approvals',
    summary: 'Open requests for approval of all sessions, the oldest first; a moment behind the log',
    access: 'admin',
    query: approvalsQuery,
    answers: { 200: answer('a page', approvalPage) },
    errors: [400],
  }),
  operation({
    method: 'post',
    path: '/v1/approvals/{id}',
    summary: 'Approve or deny a tool call',
    description:
      'A request is decided once. What runs is what was approved, with exactly these arguments and at most once. 404: ' +
      'there is no such request. 409: it is closed, and the answer says by whom or why.',
    access: 'admin',
    parameters: { id: 'of the request, as in GET /v1/approvals' },
    headers: { 'Idempotency-Key': 'a repeat with the same key is taken once and gets the same answer' },
    body: newDecision,
    answers: {
      202: answer('the session continues', sessionIdJson),
      409: answer('the request is closed', closedApproval),
    },
    errors: [400, 404],
  }),
];
