import { randomFrom } from './random.ts';

export const SERVERS = ['postgres', 'nats'] as const;
export type Server = (typeof SERVERS)[number];

/** `whose`: the service whose connections to the server it is about; `all`: everybody's. */
interface OnTheWay {
  readonly whose: string;
  readonly server: Server;
}

export type Fault =
  /** SIGKILL. */
  | { readonly kind: 'kill'; readonly program: string }
  /** SIGKILL to every program at once, as when the power fails. */
  | { readonly kind: 'kill-everything' }
  /** SIGTERM (Postgres: SIGINT, since SIGTERM waits for its clients to leave): down and up again in good order. */
  | { readonly kind: 'restart'; readonly program: string }
  /** SIGSTOP, and SIGCONT after a while. */
  | { readonly kind: 'freeze'; readonly program: string; readonly forMs: number }
  /** All connections are reset; new ones come through. */
  | ({ readonly kind: 'cut' } & OnTheWay)
  /** The same, and new ones are reset too. */
  | ({ readonly kind: 'refuse'; readonly forMs: number } & OnTheWay)
  /** What is sent arrives, but so much later. */
  | ({ readonly kind: 'delay'; readonly forMs: number; readonly byMs: number } & OnTheWay)
  /** Nothing arrives, and nobody is told; afterwards everything does, as when packets are sent again. */
  | ({ readonly kind: 'silence'; readonly forMs: number } & OnTheWay)
  /** The stream of hints with its consumers, under the running server. */
  | { readonly kind: 'delete-stream' }
  /** Killed, and everything that JetStream had on disk is gone. */
  | { readonly kind: 'delete-store' };

export interface Planned {
  readonly atMs: number;
  readonly fault: Fault;
}

export interface SchedulePlan {
  readonly seed: number;
  readonly lastsMs: number;
  /** Of services, as in pid files: `agent-runner-2`. */
  readonly instances: readonly string[];
  /** Between the begins of two faults. */
  readonly everyMs: { readonly least: number; readonly most: number };
  readonly longestMs: number;
}

/** The rest of a restart: the launcher's back-off and the start of a service. Two faults of one program are so far apart. */
const RECOVERY_MS = 2_500;
const SHORTEST_MS = 500;
/** Of each packet: another continent. A command of ours is several to Postgres, and one to NATS. */
const DELAY_MS: Record<Server, number> = { postgres: 60, nats: 150 };

/**
 * What goes wrong when: the same for the same plan. Programs and the ways between them fail in turns, since there are
 * many more ways than programs; of each deck every fault comes once, in an order that the seed says, before any comes
 * again. Faults overlap, but for two of the same place.
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
      // Each ends before the schedule does: what comes after is the time to recover in.
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

/** One of each; how long it lasts is not said yet. */
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
