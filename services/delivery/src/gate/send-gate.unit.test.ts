import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Entry, SendGate, type SendGateOptions, type SendIntent } from './send-gate.ts';

const to = (chat: string | null = null, destination = 'platform'): SendIntent => ({
  destination: { name: destination, chat },
  limits: undefined,
});
const limited = (chat: string): SendIntent => ({
  destination: { name: 'platform', chat },
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

/** As a session does that was woken: enters, sends, leaves. */
function sendsWhenWoken(it: SendGate, ask: SendIntent, verdict: 'worked' | 'failed' = 'worked'): string {
  const id = woken.shift() ?? 'nobody was woken';
  it.leave(entered(it.enter(id, ask)), verdict);
  return id;
}

describe('who has somewhere else to go', () => {
  it('is woken when it is asked after and the target is down, and else keeps its place in the queue', () => {
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

describe('places', () => {
  it("are never all one hook's: while it hangs, others of its host are not held back", () => {
    const hook = (path: string): SendIntent => ({
      destination: { name: 'host', chat: null, circuit: `host/${path}` },
      limits: undefined,
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

  it('are so many per destination; who finds none waits, and others elsewhere do not', () => {
    const it = gate();
    entered(it.enter('a', to()));
    entered(it.enter('b', to()));
    expect(it.enter('c', to())).toBeNull();
    expect(it.isWaiting('c')).toBe(true);
    entered(it.enter('d', to(null, 'elsewhere')));
  });

  it('are given to who waited longest, and nobody overtakes', () => {
    const it = gate();
    const first = entered(it.enter('a', to()));
    entered(it.enter('b', to()));
    for (const id of ['c', 'd', 'e']) it.enter(id, to());
    it.leave(first, 'worked');
    expect(woken).toEqual(['c']);
    expect(it.enter('newcomer', to())).toBeNull();
    expect([sendsWhenWoken(it, to()), sendsWhenWoken(it, to())]).toEqual(['c', 'd']);
  });

  it('are given to the next when the one that was woken has nothing to send', () => {
    const it = gate();
    const first = entered(it.enter('a', to()));
    entered(it.enter('b', to()));
    for (const id of ['c', 'd']) it.enter(id, to());
    it.leave(first, 'worked');
    it.done('c');
    expect(woken).toEqual(['c', 'd']);
  });

  it('park no more than there is room for: the rest is left to the sweep', () => {
    const it = gate({ perDestination: 1, maxWaiting: 2 });
    entered(it.enter('a', to()));
    for (const id of ['b', 'c', 'd']) expect(it.enter(id, to())).toBeNull();
    expect([it.waitingCount, it.isWaiting('d')]).toEqual([2, false]);
  });
});

describe('rates', () => {
  it('of a chat are kept across sessions, in the order of coming; another chat goes on', () => {
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

  it('of all chats together hold too', () => {
    const it = gate({ perDestination: 10 });
    for (const chat of ['x', 'y', 'z']) it.leave(entered(it.enter(chat, limited(chat))), 'worked');
    expect(it.enter('w', limited('w'))).toBeNull();
    pass(1_000);
    expect(woken).toEqual(['w']);
  });

  it('of a pause that the platform asked for hold whoever goes to the same chat, or to the whole target', () => {
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

  it('of a pause without measure do not silence a chat for ever', () => {
    const it = gate();
    it.pause(to('x'), 'chat', 1e9);
    expect(it.enter('a', to('x'))).toBeNull();
    pass(900_000);
    expect(woken).toEqual(['a']);
  });

  it('give a further chunk its turn, unless that is too far off', () => {
    const it = gate();
    entered(it.enter('a', limited('x')));
    expect(it.takeTurn(limited('x'), 1_000)).toBe(1_000);
    expect(it.takeTurn(limited('x'), 1_000)).toBeNull();
    // The turn that was taken counts for others.
    expect(it.enter('b', limited('x'))).toBeNull();
    pass(1_999);
    expect(woken).toEqual([]);
    pass(1);
    expect(woken).toEqual(['b']);
  });
});

it('what is told of a circuit names the destination, not the path of a hook', () => {
  const it = gate();
  const hook: SendIntent = {
    destination: { name: 'http https://x.test', chat: null, circuit: 'http https://x.test/s3cret' },
    limits: undefined,
  };
  for (const id of ['a', 'b']) it.leave(entered(it.enter(id, hook)), 'failed');
  expect(changes).toEqual(['http https://x.test opened']);
});

describe('a circuit that is open', () => {
  function down(it: SendGate): void {
    for (const id of ['f1', 'f2']) it.leave(entered(it.enter(id, to())), 'failed');
    expect(changes).toEqual(['platform opened']);
  }

  it('lets nobody through but one after each pause, and the rest when that one worked', () => {
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

  it('asks the next when the one that should see had nothing to send', () => {
    const it = gate();
    down(it);
    for (const id of ['a', 'b']) it.enter(id, to());
    pass(100);
    it.done('a');
    expect(woken).toEqual(['a', 'b']);
  });

  it('moves who waits for a place to where it waits for the circuit, unread', () => {
    const it = gate();
    const inside = ['f1', 'f2'].map((id) => entered(it.enter(id, to())));
    for (const id of ['a', 'b', 'c']) it.enter(id, to());
    for (const entry of inside) it.leave(entry, 'failed');
    // The first was woken when the first place was free; it finds the circuit open.
    expect(woken).toEqual(['a']);
    expect(it.enter('a', to())).toBeNull();
    expect(woken).toEqual(['a']);
    expect(it.waitingCount).toBe(3);
    pass(100);
    expect(woken).toHaveLength(2);
  });
});

it('after it is closed nobody is woken or parked', () => {
  const it = gate({ perDestination: 1 });
  const first = entered(it.enter('a', to()));
  it.enter('b', to());
  it.close();
  it.leave(first, 'worked');
  expect(it.enter('c', { ...to(), destination: { name: 'x', chat: null } })).not.toBeNull();
  expect([woken, it.waitingCount]).toEqual([[], 0]);
});
