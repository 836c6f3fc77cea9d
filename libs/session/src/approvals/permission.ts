import type { OpenCall, SessionState } from '../state.ts';
import { digestOfArguments } from './arguments-digest.ts';
import { matches, ruleFor, type ToolRule } from './tool-policy.ts';

/**
 * Whether a call may run with these arguments, by what the log says (invariant approved-is-what-runs). The runner asks
 * before it starts a call, `decide` before it records the start, and process-watcher before it acts: none of them
 * relies on the others.
 */
export type Permission =
  /** `approval`: set if it needed one. */
  | { readonly kind: 'allowed'; readonly approval: { readonly id: string; readonly digest: string } | null }
  | { readonly kind: 'ask'; readonly rule: ToolRule; readonly digest: string }
  /** It was approved with other arguments. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'denied'; readonly rule: ToolRule };

export interface PermittedCall {
  readonly callId: string;
  readonly tool: string;
  /** As the model wrote them. */
  readonly arguments: string;
}

export function permissionOf(state: SessionState, call: PermittedCall): Permission {
  const open = openCall(state, call.callId);
  const approved = open?.approval;
  const isChanged = approved !== undefined && approved.digest !== digestOfArguments(call.arguments);
  if (isChanged || (approved !== undefined && open?.tool !== call.tool)) return { kind: 'changed' };
  const rule = ruleFor(state.created?.tools?.policy ?? [], call.tool, call.arguments);
  if (rule === null || rule.do === 'allow') return { kind: 'allowed', approval: approved ?? null };
  if (rule.do === 'deny') return { kind: 'denied', rule };
  if (approved !== undefined) return { kind: 'allowed', approval: approved };
  const digest = digestOfArguments(call.arguments);
  const forSession = (state.approvedRules ?? []).find(
    ({ tool, rule: asked }) =>
      tool === call.tool && asked.tool === rule.tool && asked.match === (rule.match ?? null),
  );
  // From now on the rule allows, so it must match as strictly as a rule that allows: `git push; rm -rf ~` is not `git push`.
  const allows = matches({ ...rule, do: 'allow' }, call.tool, call.arguments);
  if (forSession !== undefined && allows) {
    return { kind: 'allowed', approval: { id: forSession.approvalId, digest } };
  }
  return { kind: 'ask', rule, digest };
}

function openCall({ turns }: SessionState, callId: string): OpenCall | undefined {
  return turns[0]?.calls.find(({ id }) => id === callId);
}
