import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Entry, SendGate, type SendGateOptions, type SendIntent } from './send-gate.ts';

const to = (chat: string | null = null, destination = 'platform'): SendIntent => ({
  destination: { name: destination, chat },
  limits: undefined,
  writtenAt: 0,
});
const limited = (chat: string, writtenAt = 0): SendIntent => ({
  destination: { name: 'platform', chat },
  writtenAt,
  limits: { perChat: { sends: 1, seconds: 1 }, overall: { sends: 3, seconds: 1 } },
});

let now: number;
let woken: string[];
let changes: string[];

beforeEach(() => {
  jest.useFakeTimers();
  now = 0;
  woken = [];
  changes = [];
});

afterEach(() => {
  jest.useRealTimers();
});

function gate(options: Partial<SendGateOptions> = {}): SendGate {
  return new SendGate({
    perDestination: 2,
    perCircuit: 2,
    maxWaiting: 10,
    circuit: { failures: 2, firstPauseMs: 100, lastPauseMs: 400, staleMs: 10_000 },
    now: () => now,
    wake: (id) => woken.push(id),
    onCircuit: (circuit, change) => changes.push(`${circuit} ${change}`),
    ...options,
  });
}

function pass(ms: number): void {
  now += ms;
  jest.advanceTimersByTime(ms);
}

function entered(entry: Entry | null): Entry {
  if (entry === null) throw new Error('it had to wait');
  return entry;
}

/** What a woken session does: enters, sends, leaves. */
function sendsWhenWoken(it: SendGate, intent: SendIntent, verdict: 'worked' | 'failed' = 'worked'): string {
  const id = woken.shift() ?? 'nobody was woken';
  it.leave(entered(it.enter(id, intent)), verdict);
  return id;
}

describe('a session that would give up', () => {
  it('is woken by a recheck if the target is down, and otherwise keeps its position in the queue', () => {
    const it = gate();
    const givingUp = { ...limited('chat'), givesUpAt: 5 };
    entered(it.enter('a', limited('chat')));
    expect(it.enter('b', givingUp)).toBeNull();
    expect(it.enter('c', limited('chat'))).toBeNull();
    pass(10);
    it.recheck('b');
    expect(woken).toEqual([]);
    pass(1_000);
    expect(woken).toEqual(['b']);

    const down = gate({ circuit: { failures: 1, firstPauseMs: 100, lastPauseMs: 400, staleMs: 10_000 } });
    down.leave(entered(down.enter('d', to())), 'failed');
    expect(down.enter('e', { ...to(), givesUpAt: 0 })).toBeNull();
    down.recheck('e');
    expect(woken).toEqual(['b', 'e']);
  });
});

describe('slots', () => {
  it('are never all taken by one hook: while it hangs, other hooks of its host go on', () => {
    const hook = (path: string): SendIntent => ({
      destination: { name: 'host', chat: null, circuit: `host/${path}` },
      limits: undefined,
      writtenAt: 0,
    });
    const it = gate({ perDestination: 4, perCircuit: 2 });
    const [first] = ['a', 'b'].map((id) => entered(it.enter(id, hook('hangs'))));
    expect(it.enter('c', hook('hangs'))).toBeNull();
    it.leave(entered(it.enter('d', hook('works'))), 'worked');
    entered(it.enter('e', hook('works')));
    expect(woken).toEqual([]);
    it.leave(first as Entry, 'failed');
    expect(woken).toEqual(['c']);
    entered(it.enter('c', hook('hangs')));
  });

  it('are limited per destination; a session without one waits, and sessions for other destinations do not', () => {
    const it = gate();
    entered(it.enter('a', to()));
    entered(it.enter('b', to()));
    expect(it.enter('c', to())).toBeNull();
    expect(it.isWaiting('c')).toBe(true);
    entered(it.enter('d', to(null, 'elsewhere')));
  });

  it('go to the session that waited longest, and nobody overtakes', () => {
    const it = gate();
    const first = entered(it.enter('a', to()));
    entered(it.enter('b', to()));
    for (const id of ['c', 'd', 'e']) it.enter(id, to());
    it.leave(first, 'worked');
    expect(woken).toEqual(['c']);
    expect(it.enter('newcomer', to())).toBeNull();
    expect([sendsWhenWoken(it, to()), sendsWhenWoken(it, to())]).toEqual(['c', 'd']);
  });

  it('go to the next session if the woken one has nothing to send', () => {
    const it = gate();
    const first = entered(it.enter('a', to()));
    entered(it.enter('b', to()));
    for (const id of ['c', 'd']) it.enter(id, to());
    it.leave(first, 'worked');
    it.done('c');
    expect(woken).toEqual(['c', 'd']);
  });

  it('have a bounded queue: the rest is left to the sweep', () => {
    const it = gate({ perDestination: 1, maxWaiting: 2 });
    entered(it.enter('a', to()));
    for (const id of ['b', 'c', 'd']) expect(it.enter(id, to())).toBeNull();
    expect([it.waitingCount, it.isWaiting('d')]).toEqual([2, false]);
  });
});

describe('rates', () => {
  it('of a chat hold across sessions, in the order of arrival; another chat goes on', () => {
    const it = gate();
    it.leave(entered(it.enter('a', limited('x'))), 'worked');
    for (const id of ['b', 'c']) expect(it.enter(id, limited('x'))).toBeNull();
    it.leave(entered(it.enter('other', limited('y'))), 'worked');
    pass(999);
    expect(woken).toEqual([]);
    pass(1);
    expect(sendsWhenWoken(it, limited('x'))).toBe('b');
    pass(999);
    expect(woken).toEqual([]);
    pass(1);
    expect(sendsWhenWoken(it, limited('x'))).toBe('c');
  });

  it('of a chat go to what was written first: a continuation does not overtake the answers before it', () => {
    const it = gate();
    const sends = (id: string, writtenAt: number) =>
      it.leave(entered(it.enter(id, limited('x', writtenAt))), 'worked');
    // The session has answered three messages, and its continuation two more. Each asks again after it has sent.
    const outputs = { session: [1, 2, 3], continuation: [4, 5] };
    sends('session', outputs.session.shift() ?? 0);
    for (const id of ['continuation', 'session'] as const)
      expect(it.enter(id, limited('x', outputs[id][0]))).toBeNull();
    const order: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      pass(1_000);
      const id = woken.shift() as keyof typeof outputs;
      order.push(id);
      sends(id, outputs[id].shift() ?? 0);
      const [next] = outputs[id];
      if (next !== undefined) expect(it.enter(id, limited('x', next))).toBeNull();
    }
    expect(order).toEqual(['session', 'session', 'continuation', 'continuation']);
  });

  it('hold for all chats together too', () => {
    const it = gate({ perDestination: 10 });
    for (const chat of ['x', 'y', 'z']) it.leave(entered(it.enter(chat, limited(chat))), 'worked');
    expect(it.enter('w', limited('w'))).toBeNull();
    pass(1_000);
    expect(woken).toEqual(['w']);
  });

  it('include a pause that the platform asked for, for the same chat or for the whole target', () => {
    const it = gate();
    it.pause(to('x'), 'chat', 2);
    expect(it.enter('a', to('x'))).toBeNull();
    it.leave(entered(it.enter('b', to('y'))), 'worked');
    it.pause(to('y'), 'target', 3);
    expect(it.enter('c', to('z'))).toBeNull();
    pass(2_000);
    expect(woken).toEqual([]);
    pass(1_000);
    expect([sendsWhenWoken(it, to('z')), sendsWhenWoken(it, to('x'))]).toEqual(['c', 'a']);
  });

  it('do not let an absurdly long pause silence a chat for ever', () => {
    const it = gate();
    it.pause(to('x'), 'chat', 1e9);
    expect(it.enter('a', to('x'))).toBeNull();
    pass(900_000);
    expect(woken).toEqual(['a']);
  });

  it('give a further chunk its turn, unless it is too far ahead', () => {
    const it = gate();
    entered(it.enter('a', limited('x')));
    expect(it.takeTurn(limited('x'), 1_000)).toBe(1_000);
    expect(it.takeTurn(limited('x'), 1_000)).toBeNull();
    // The turn counts for other sessions.
    expect(it.enter('b', limited('x'))).toBeNull();
    pass(1_999);
    expect(woken).toEqual([]);
    pass(1);
    expect(woken).toEqual(['b']);
  });
});

it('a circuit is reported by its destination, not by the path of a hook', () => {
  const it = gate();
  const hook: SendIntent = {
    destination: { name: 'http https://x.test', chat: null, circuit: 'http https://x.test/s3cret' },
    limits: undefined,
    writtenAt: 0,
  };
  for (const id of ['a', 'b']) it.leave(entered(it.enter(id, hook)), 'failed');
  expect(changes).toEqual(['http https://x.test opened']);
});

describe('an open circuit', () => {
  function down(it: SendGate): void {
    for (const id of ['f1', 'f2']) it.leave(entered(it.enter(id, to())), 'failed');
    expect(changes).toEqual(['platform opened']);
  }

  it('lets only one probe through after each pause, and the rest once a probe worked', () => {
    const it = gate();
    down(it);
    for (const id of ['a', 'b', 'c', 'd']) expect(it.enter(id, to())).toBeNull();
    entered(it.enter('elsewhere', to(null, 'elsewhere')));
    pass(100);
    expect(woken).toEqual(['a']);
    const probe = entered(it.enter('a', to()));
    expect(it.enter('late', to())).toBeNull();
    expect(woken).toEqual(['a']);
    it.leave(probe, 'failed');
    pass(199);
    expect(woken).toEqual(['a']);
    pass(1);
    expect(woken).toEqual(['a', 'b']);
    woken = [];
    it.leave(entered(it.enter('b', to())), 'worked');
    expect(changes).toEqual(['platform opened', 'platform closed']);
    const order: string[] = [];
    while (woken.length > 0) order.push(sendsWhenWoken(it, to()));
    expect(order).toEqual(['c', 'd', 'late']);
    expect(it.waitingCount).toBe(0);
  });

  it('wakes the next session if the probing one has nothing to send', () => {
    const it = gate();
    down(it);
    for (const id of ['a', 'b']) it.enter(id, to());
    pass(100);
    it.done('a');
    expect(woken).toEqual(['a', 'b']);
  });

  it('moves a session that waits for a slot to the queue of the circuit, without reading it', () => {
    const it = gate();
    const inside = ['f1', 'f2'].map((id) => entered(it.enter(id, to())));
    for (const id of ['a', 'b', 'c']) it.enter(id, to());
    for (const entry of inside) it.leave(entry, 'failed');
    // The first session was woken when a slot was free. It finds the circuit open.
    expect(woken).toEqual(['a']);
    expect(it.enter('a', to())).toBeNull();
    expect(woken).toEqual(['a']);
    expect(it.waitingCount).toBe(3);
    pass(100);
    expect(woken).toHaveLength(2);
  });
});

it('after it is closed nobody is woken and nobody waits', () => {
  const it = gate({ perDestination: 1 });
  const first = entered(it.enter('a', to()));
  it.enter('b', to());
  it.close();
  it.leave(first, 'worked');
  expect(it.enter('c', { ...to(), destination: { name: 'x', chat: null } })).not.toBeNull();
  expect([woken, it.waitingCount]).toEqual([[], 0]);
});
