import { afterEach, describe, expect, it } from '@jest/globals';
import type { Refusal } from '../../http/refusal.ts';
import { BodyBudget, CHECK_MS, type HeldBody } from './body-budget.ts';

const budgets: BodyBudget[] = [];
const refusals = new Map<HeldBody, Refusal>();

afterEach(() => {
  for (const budget of budgets.splice(0)) budget.close();
});

function budgetOf(limits: {
  totalBytes?: number;
  bytesPerNetwork?: number;
  bytesPerSecond?: number;
}): BodyBudget {
  const budget = new BodyBudget({ totalBytes: 100, bytesPerNetwork: 100, bytesPerSecond: 0, ...limits });
  budgets.push(budget);
  return budget;
}

function bodyOf(network = 'a'): HeldBody {
  const body: HeldBody = { network, received: 0, cut: (refusal) => refusals.set(body, refusal) };
  return body;
}

const answered = (body: HeldBody) => refusals.get(body)?.status ?? null;

describe('the budget for bodies of unauthenticated senders', () => {
  it('cuts the body that was silent the longest, with 503 and Retry-After, not the newest', () => {
    const budget = budgetOf({});
    const [first, second, third] = [bodyOf(), bodyOf(), bodyOf()];
    budget.hold(first, 40);
    budget.hold(second, 40);
    budget.hold(first, 10);
    budget.hold(third, 20);
    expect([first, second, third].map(answered)).toEqual([null, 503, null]);
    expect(refusals.get(second)?.retryAfterSeconds).toBeGreaterThan(0);
    expect(budget.bytes).toBe(70);
  });

  it('holds no more than its total, however many bodies come', () => {
    const budget = budgetOf({});
    for (let n = 0; n < 1000; n += 1) {
      budget.hold(bodyOf(`network-${n}`), 30);
      expect(budget.bytes).toBeLessThanOrEqual(100);
    }
  });

  it('lets one address crowd out only itself', () => {
    const budget = budgetOf({ bytesPerNetwork: 50 });
    const honest = bodyOf('honest');
    const flood = Array.from({ length: 10 }, () => bodyOf('flood'));
    budget.hold(honest, 10);
    for (const body of flood) budget.hold(body, 20);
    expect(answered(honest)).toBeNull();
    expect(flood.map(answered)).toEqual([503, 503, 503, 503, 503, 503, 503, 503, null, null]);
    expect(budget.bytes).toBe(50);
  });

  it('lets one body alone be larger than the budget: max_body_bytes decides what is too large', () => {
    const budget = budgetOf({ bytesPerNetwork: 10 });
    const large = bodyOf();
    budget.hold(large, 500);
    expect(answered(large)).toBeNull();
  });

  it('frees the bytes of a complete body', () => {
    const budget = budgetOf({});
    const [first, second] = [bodyOf(), bodyOf()];
    budget.hold(first, 90);
    budget.release(first);
    budget.release(first);
    expect(budget.bytes).toBe(0);
    budget.hold(second, 90);
    expect([first, second].map(answered)).toEqual([null, null]);
  });

  it('cuts a body that received too little in a whole interval, with 408; a faster one stays', () => {
    const budget = budgetOf({ bytesPerSecond: 10 });
    const [quick, slow] = [bodyOf(), bodyOf()];
    for (const body of [quick, slow]) budget.hold(body, 1);
    budget.cutSlow();
    expect([quick, slow].map(answered)).toEqual([null, null]);
    quick.received += (10 * CHECK_MS) / 1000;
    slow.received += (10 * CHECK_MS) / 1000 - 1;
    budget.cutSlow();
    expect([quick, slow].map(answered)).toEqual([null, 408]);
    expect(budget.bytes).toBe(1);
  });
});
