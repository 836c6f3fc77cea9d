import { z } from 'zod';
import { newDecision, shown } from '../api/approvals/approvals.operations.ts';
import { answer, component, operation } from '../http/operation.ts';

const approval = component(
  'Approval',
  z.object({
    id: z.string(),
    session_id: z.uuid(),
    title: z.string(),
    route: z.string(),
    agent: z.string(),
    tool: z.string(),
    arguments: z
      .string()
      .describe('JSON, exactly as the model wrote it: this is what runs if it is approved'),
    shown: shown.describe(
      'the arguments for a person: characters that hide or reverse text are shown as codes',
    ),
    digest: z.string(),
    approvers: z
      .array(z.string())
      .describe('who may decide besides the API; empty: whoever has the link or may speak in the chat'),
    expires_at: z.iso.datetime(),
  }),
);
export type ApprovalJson = z.infer<typeof approval>;

const taken = component('DecisionTaken', z.object({ session_id: z.uuid() }));

const parameters = { token: 'signed; as it was delivered with the request' };
const description =
  'The link works once, as long as its request is open. 403: the `approvers` of the request do not include `link`. 404: the ' +
  'link is not one of ours. 409: the request has other arguments than those that were read. 410: somebody decided, or it ' +
  'has expired, and the answer says so. The answer is a page unless the client asks for JSON.';

export const approvalLinkOperations = [
  operation({
    method: 'get',
    path: '/approvals/{token}',
    summary: 'A request for approval, on a page where it can be decided',
    description,
    access: 'open',
    parameters,
    answers: { 200: answer('the request is open', approval) },
    errors: [403, 404, 410, 503],
    pages: true,
  }),
  operation({
    method: 'post',
    path: '/approvals/{token}',
    summary: 'Approve or deny the call; the run continues',
    description,
    access: 'open',
    parameters,
    body: newDecision,
    formBody: true,
    answers: { 202: answer('taken and durable', taken) },
    errors: [400, 403, 404, 409, 410, 413, 415, 503],
    pages: true,
  }),
];
