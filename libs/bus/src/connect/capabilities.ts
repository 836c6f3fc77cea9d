/**
 * Which feature needs which server. This is the only place that compares versions. An older server *silently* drops fields
 * that it does not know, so a feature that is not in this table must work on the oldest server that we support.
 * Newer than that, and therefore not used: filter_subjects (2.10), consumer `action` semantics (2.10),
 * priority groups (2.11), message TTL (2.11).
 */
const since = {
  /** Pull requests with heartbeats and with a count of what is left, `CONSUMER.CREATE.<stream>.<name>.<filter>`. */
  angelia: [2, 9, 0],
} as const;

type Capability = keyof typeof since;

export function hasCapability(serverVersion: string, capability: Capability): boolean {
  const [major, minor, patch] = since[capability];
  const [, a = 0, b = 0, c = 0] = (/^v?(\d+)\.(\d+)\.(\d+)/.exec(serverVersion) ?? []).map(Number);
  if (a !== major) return a > major;
  if (b !== minor) return b > minor;
  return c >= patch;
}

export function neededVersion(capability: Capability): string {
  const [major, minor] = since[capability];
  return `${major}.${minor}`;
}
