import { randomFrom } from './random.ts';

export const SERVERS = ['postgres', 'nats'] as const;
export type Server = (typeof SERVERS)[number];

/** `whose` is the service whose connections to the server fail; `all` means every service. */
interface OnTheWay {
  readonly whose: string;
  readonly server: Server;
}

export type Fault =
  /** SIGKILL. */
  | { readonly kind: 'kill'; readonly program: string }
  /** SIGKILL to every program at once, like a power failure. */
  | { readonly kind: 'kill-everything' }
  /** SIGTERM: an orderly restart. Postgres gets SIGINT, because SIGTERM waits for its clients to disconnect. */
  | { readonly kind: 'restart'; readonly program: string }
  /** SIGSTOP, and later SIGCONT. */
  | { readonly kind: 'freeze'; readonly program: string; readonly forMs: number }
  /** Resets all connections. New ones work. */
  | ({ readonly kind: 'cut' } & OnTheWay)
  /** Resets all connections, and new ones as well. */
  | ({ readonly kind: 'refuse'; readonly forMs: number } & OnTheWay)
  /** Everything arrives this much later. */
  | ({ readonly kind: 'delay'; readonly forMs: number; readonly byMs: number } & OnTheWay)
  /** Nothing arrives, without an error. Afterwards everything arrives, as after retransmission. */
  | ({ readonly kind: 'silence'; readonly forMs: number } & OnTheWay)
  /** Deletes the stream of hints with its consumers while the server runs. */
  | { readonly kind: 'delete-stream' }
  /** Kills the server and deletes everything that JetStream had on disk. */
  | { readonly kind: 'delete-store' };

export interface Planned {
  readonly atMs: number;
  readonly fault: Fault;
}

export interface SchedulePlan {
  readonly seed: number;
  readonly lastsMs: number;
  /** Names of service instances, as in pid files: `agent-runner-2`. */
  readonly instances: readonly string[];
  /** The time between the starts of two faults. */
  readonly everyMs: { readonly least: number; readonly most: number };
  readonly longestMs: number;
}

/** The launcher's back-off and the start of a service. Two faults of one program are at least this far apart. */
const RECOVERY_MS = 2_500;
const SHORTEST_MS = 500;
/** The delay of each packet, as to another continent. One command of ours needs several packets to Postgres and one to NATS. */
const DELAY_MS: Record<Server, number> = { postgres: 60, nats: 150 };

/**
 * Which fault happens when. The same plan gives the same schedule. Faults of programs and of connections take turns, because
 * there are many more connections than programs. Every fault of a deck happens once, in an order from the seed, before any
 * happens again. Faults overlap, except for two at the same place.
 */
export function scheduleOf(plan: SchedulePlan): Planned[] {
  const random = randomFrom(plan.seed);
  const schedule: Planned[] = [];
  const busyUntil = new Map<string, number>();
  const decks = [faultsOfPrograms(plan.instances), faultsOnTheWay(plan.instances)].map((all) => ({
    all,
    left: random.shuffled(all),
  }));
  let atMs = random.between(0, plan.everyMs.most);
  for (let drawn = 0; atMs < plan.lastsMs; drawn += 1) {
    const deck = decks[drawn % decks.length] as (typeof decks)[number];
    if (deck.left.length === 0) deck.left = random.shuffled(deck.all);
    const free = deck.left.findIndex((fault) => (busyUntil.get(placeOf(fault)) ?? 0) <= atMs);
    const [next] = free < 0 ? [] : deck.left.splice(free, 1);
    if (next !== undefined) {
      // Each ends before the schedule does. The time after it is for recovery.
      const most = Math.max(SHORTEST_MS, Math.min(plan.longestMs, plan.lastsMs - atMs));
      const forMs = random.between(SHORTEST_MS, most);
      const fault = 'forMs' in next ? { ...next, forMs } : next;
      schedule.push({ atMs, fault });
      busyUntil.set(placeOf(fault), atMs + ('forMs' in fault ? fault.forMs : 0) + RECOVERY_MS);
    }
    atMs += random.between(plan.everyMs.least, plan.everyMs.most);
  }
  return schedule;
}

/** One of each, without its duration. */
function faultsOfPrograms(instances: readonly string[]): Fault[] {
  return [
    ...[...instances, ...SERVERS].flatMap((program): Fault[] => [
      { kind: 'kill', program },
      { kind: 'restart', program },
      { kind: 'freeze', program, forMs: 0 },
    ]),
    { kind: 'kill-everything' },
    { kind: 'delete-stream' },
    { kind: 'delete-store' },
  ];
}

function faultsOnTheWay(instances: readonly string[]): Fault[] {
  const ways = [...instances, 'all'].flatMap((whose) => SERVERS.map((server) => ({ whose, server })));
  return ways.flatMap((way): Fault[] => [
    { kind: 'cut', ...way },
    { kind: 'refuse', ...way, forMs: 0 },
    { kind: 'delay', ...way, forMs: 0, byMs: DELAY_MS[way.server] },
    { kind: 'silence', ...way, forMs: 0 },
  ]);
}

function placeOf(fault: Fault): string {
  if ('program' in fault) return fault.program;
  if ('whose' in fault) return `${fault.whose}>${fault.server}`;
  return fault.kind === 'kill-everything' ? 'everything' : 'nats';
}

export function inWords(fault: Fault): string {
  const long = 'forMs' in fault ? ` for ${(fault.forMs / 1000).toFixed(1)} s` : '';
  if ('program' in fault) return `${fault.kind} ${fault.program}${long}`;
  return 'whose' in fault ? `${fault.kind} ${fault.whose} > ${fault.server}${long}` : fault.kind;
}
