import { z } from 'zod';

/** Where we are in Discord's gateway: the offset of the connection. */
export interface GatewayPosition {
  readonly session: string;
  /** `resume_gateway_url`. */
  readonly url: string;
  /** The last event that is durable here. */
  readonly seq: number;
  readonly botId: string;
  /** The newest message that is durable here: what came after it is asked for if Discord forgot the session. */
  readonly newest: string;
}

const schema = z.object({
  session: z.string(),
  url: z.string(),
  seq: z.number().int(),
  botId: z.string(),
  newest: z.string(),
});

export function writePosition(position: GatewayPosition): string {
  return JSON.stringify(position);
}

/** Null: there is none, or an older version of us wrote it. */
export function readPosition(offset: string | null): GatewayPosition | null {
  if (offset === null) return null;
  try {
    return schema.parse(JSON.parse(offset));
  } catch {
    return null;
  }
}

/** Ids grow with time. */
export function newerId(one: string, other: string): string {
  return BigInt(one) > BigInt(other) ? one : other;
}

/** 2015-01-01, where the times in ids begin. */
const DISCORD_EPOCH_MS = 1_420_070_400_000;
const TIME_SHIFT = 22n;

/** The smallest id of this moment. */
export function idOfTime(ms: number): string {
  return String(BigInt(Math.max(0, ms - DISCORD_EPOCH_MS)) << TIME_SHIFT);
}
