import { describe, expect, it } from '@jest/globals';
import { TokenGuesses } from './token-guesses.ts';

const wrong = () => false;
const right = () => true;

function afterAFlood(guesses: TokenGuesses, client: string, nowMs = 0): void {
  for (let guess = 0; guess < 50; guess += 1) guesses.judge(client, wrong, nowMs);
}

describe('guesses of the admin token', () => {
  it('ten are compared; after that one a second, and the others are not', () => {
    const guesses = new TokenGuesses();
    let looks = 0;
    const look = () => {
      looks += 1;
      return false;
    };
    const verdicts = Array.from({ length: 1000 }, () => guesses.judge('192.0.2.7', look, 0));
    expect(verdicts.filter((verdict) => verdict === 'wrong')).toHaveLength(10);
    expect(verdicts.filter((verdict) => verdict === 'unchecked')).toHaveLength(990);
    expect(looks).toBe(10);
    expect(guesses.judge('192.0.2.7', look, 1000)).toBe('wrong');
    expect(guesses.judge('192.0.2.7', look, 1000)).toBe('unchecked');
    expect(looks).toBe(11);
  });

  it('the right token works a second after the last guess, and at once from another address', () => {
    const guesses = new TokenGuesses();
    afterAFlood(guesses, '192.0.2.7');
    expect(guesses.judge('192.0.2.7', right, 500)).toBe('unchecked');
    expect(guesses.judge('198.51.100.1', right, 500)).toBe('right');
    expect(guesses.judge('192.0.2.7', right, 1000)).toBe('right');
  });

  it('a client that has used the right token is not locked out by guesses from the same address', () => {
    const guesses = new TokenGuesses();
    expect(guesses.judge('192.0.2.7', right, 0)).toBe('right');
    afterAFlood(guesses, '192.0.2.7');
    expect(guesses.judge('192.0.2.7', wrong, 0)).toBe('slowed');
    expect(guesses.judge('192.0.2.7', right, 0)).toBe('right');
  });

  it('a crowd of addresses pushes out neither the operator nor the addresses that were just slowed', () => {
    const guesses = new TokenGuesses();
    guesses.judge('operator', right, 0);
    for (let client = 0; client < 20_000; client += 1) guesses.judge(`crowd-${client}`, wrong, 0);
    afterAFlood(guesses, 'operator');
    expect(guesses.judge('operator', right, 0)).toBe('right');
    for (let guess = 0; guess < 9; guess += 1) guesses.judge('crowd-19999', wrong, 0);
    expect(guesses.judge('crowd-19999', wrong, 0)).toBe('unchecked');
    // Forgotten, because memory is bounded.
    expect(guesses.judge('crowd-0', wrong, 0)).toBe('wrong');
  });
});
