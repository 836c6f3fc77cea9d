import { type SessionId, sessionId } from '@angelia/contracts';

/** What a button stands for: a choice of the question, or a decision about the request, that is output `output`. */
export interface ButtonName {
  readonly sessionId: SessionId;
  /** The version of `clarification.requested` or `approval.requested` in the session's stream. */
  readonly output: number;
}

export type ButtonPress = ButtonName & {
  /** `choice-0`, `choice-1`, ...; `approve`, `approve-session`, `deny`. */
  readonly action: string;
};

/**
 * Telegram takes 64 bytes, so the session's uuid is shortened to 22 characters. It needs no signature: the platform says who
 * clicked, and a person who may answer there gains nothing by forging it.
 */
export function buttonData({ sessionId: id, output, action }: ButtonPress): string {
  const uuid = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
  return `a1.${uuid}.${output.toString(36)}.${action}`;
}

/** Null: not a button of ours. */
export function readButtonData(data: string): ButtonPress | null {
  const match = /^a1\.([\w-]{22})\.([0-9a-z]{1,7})\.(choice-\d{1,2}|approve|approve-session|deny)$/.exec(
    data,
  );
  if (match === null) return null;
  const [, uuid = '', output = '', action = ''] = match;
  const hex = Buffer.from(uuid, 'base64url').toString('hex');
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return { sessionId: sessionId(id), output: Number.parseInt(output, 36), action };
}
