import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { commands } from '../commands/all-commands.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { wordsOf } from './words.ts';
import { zshCompletion } from './zsh.ts';

const words = wordsOf(commands);

/** What bash offers after these words. */
function offeredByBash(...line: string[]): string[] {
  const typed = line.map((word) => `'${word}'`).join(' ');
  const script = `${bashCompletion(words)}
COMP_WORDS=(angelia ${typed}); COMP_CWORD=${line.length}; _angelia; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.split('\n').filter((word) => word !== '');
}

describe('bash completion', () => {
  it.each([
    [['se'], ['send', 'sessions']],
    [
      ['routes', 'r'],
      ['remove', 'rotate-secret'],
    ],
    [['sessions', '--st'], ['--status']],
    [
      ['sessions', '--status', ''],
      ['queued', 'running', 'waiting', 'ended'],
    ],
    [
      ['--json', 'deliveries', '--status', 'd'],
      ['delivered', 'dead', 'dropped'],
    ],
    [['processes', 'list', '--status', 'r'], ['running']],
    [['processes', '--status', 'r'], ['running']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['help', 'rou'], ['routes']],
    [['sessions', '--title', ''], []],
  ])('offers after %j: %j', (line, offered) => {
    const found = offeredByBash(...line);
    expect(found.filter((word) => !word.startsWith('--') || line.at(-1)?.startsWith('--'))).toEqual(offered);
  });
});

describe('ids and names of routes', () => {
  /** A stand-in for the program: it prints how it was called. */
  const offered = (...line: string[]) => {
    const typed = line.map((word) => `'${word}'`).join(' ');
    const script = `program() { echo "<$*>"; }; ${bashCompletion(words)}
COMP_WORDS=(program ${typed}); COMP_CWORD=${line.length}; _angelia; IFS=' '; echo "\${COMPREPLY[*]}"`;
    return spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' }).stdout.trim();
  };

  it.each([
    [['status', ''], '<completion names session>'],
    [['status', '01a1'], '<completion names session 01a1>'],
    [['sessions', 'list', '--route', 'al'], '<completion names route al>'],
    [['sessions', '--route', ''], '<completion names route>'],
    [['retry', '01'], '<completion names delivery 01>'],
    [['jobs', 'show', ''], '<completion names job>'],
    [['routes', 'show', 'd'], '<completion names route d>'],
    [['status', '--js'], '--json'],
  ])('bash asks the program that is typed: after %j it offers %s', (line, asked) => {
    expect(offered(...line)).toBe(asked);
  });

  it('zsh and fish ask it, too', () => {
    expect(zshCompletion(words)).toContain("'*: :{_angelia_names session}'");
    expect(fishCompletion(words)).toContain("-l route -x -a '(__angelia_names route)'");
  });
});

describe('the other shells', () => {
  it.each([
    ['zsh', zshCompletion(words)],
    ['fish', fishCompletion(words)],
  ])('%s knows every command and option', (_shell, script) => {
    for (const { name, options } of words.commands) {
      for (const word of name.split(' ')) expect(script).toContain(word);
      for (const option of options) expect(script).toContain(option.name);
    }
  });
});
