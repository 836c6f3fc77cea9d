import { describe, expect, it } from '@jest/globals';
import { canonicalArguments, digestOfArguments } from './arguments-digest.ts';
import { shownArguments } from './shown-arguments.ts';
import { matchesPattern, ruleFor, type ToolRule } from './tool-policy.ts';

const run = (command: unknown): string => JSON.stringify({ command });
const decided = (policy: readonly ToolRule[], tool: string, written: string) =>
  ruleFor(policy, tool, written)?.do ?? null;

describe('a pattern', () => {
  it.each([
    ['git status', 'git status', true],
    ['git status', 'git status --short', false],
    ['git *', 'git status', true],
    ['git *', 'agit status', false],
    ['*rm *', 'cd x && rm -rf y', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['ab*ba', 'aba', false],
    ['ab*ba', 'abba', true],
    ['*', '', true],
    ['*', 'two\nlines', true],
    ['a.c', 'abc', false],
    ['(a+)+$', '(a+)+$', true],
  ])('%j and %j: %p', (pattern, text, expected) => {
    expect(matchesPattern(pattern, text)).toBe(expected);
  });

  it('that a backtracking matcher would never finish is decided at once', () => {
    const pattern = '*a'.repeat(400);
    expect(matchesPattern(`${pattern}b`, 'a'.repeat(200_000))).toBe(false);
  });
});

describe('a policy', () => {
  it('is decided by the first rule that matches the tool and the arguments', () => {
    const policy: ToolRule[] = [
      { tool: 'terminal', match: 'git push*', do: 'deny' },
      { tool: 'terminal', match: 'git *', do: 'allow' },
      { tool: 'mcp__github__*', do: 'ask' },
      { tool: 'terminal', do: 'ask' },
    ];
    expect(decided(policy, 'terminal', run('git push --force'))).toBe('deny');
    expect(decided(policy, 'terminal', run('git log'))).toBe('allow');
    expect(decided(policy, 'terminal', run('make'))).toBe('ask');
    expect(decided(policy, 'mcp__github__merge', '{}')).toBe('ask');
    expect(decided(policy, 'mcp__gitlab__merge', '{}')).toBeNull();
    expect(decided(policy, 'process', '{"action":"kill"}')).toBeNull();
  });

  it('matches other tools on their arguments as canonical JSON, however they were written', () => {
    const policy: ToolRule[] = [{ tool: 'mcp__*', match: '*"owner":"acme"*"repo":*', do: 'deny' }];
    expect(decided(policy, 'mcp__github__merge', '{ "repo": "x",\n "owner" : "acme" }')).toBe('deny');
    expect(decided(policy, 'mcp__github__merge', '{"repo":"x","owner":"other"}')).toBeNull();
  });

  it('matches a server or one tool of it, and what is written to a process', () => {
    const policy: ToolRule[] = [
      { tool: 'mcp__github__merge_pull_request', match: '*"repo":"angelia"*', do: 'allow' },
      { tool: 'mcp__github__*', do: 'ask' },
      { tool: 'process', match: '*"action":"write"*', do: 'ask' },
    ];
    expect(decided(policy, 'mcp__github__merge_pull_request', '{"repo":"angelia"}')).toBe('allow');
    expect(decided(policy, 'mcp__github__merge_pull_request', '{"repo":"other"}')).toBe('ask');
    expect(decided(policy, 'mcp__github__', '{}')).toBe('ask');
    expect(decided(policy, 'mcp__github', '{}')).toBeNull();
    expect(decided(policy, 'process', '{"process_id":"p","data":"rm -rf ~\\n", "action" : "write"}')).toBe(
      'ask',
    );
    expect(decided(policy, 'process', '{"process_id":"p","\\u0061ction":"wr\\u0069te"}')).toBe('ask');
    expect(decided(policy, 'process', '{"action":"poll","process_id":"p"}')).toBeNull();
  });

  it.each(['; rm -rf ~', '&& rm x', '| sh', '$(rm x)', '`rm x`', '> /etc/passwd', '\nrm x'])(
    'that allows a command does not allow it with %j behind it',
    (more) => {
      const policy: ToolRule[] = [
        { tool: 'terminal', match: 'git status*', do: 'allow' },
        { tool: 'terminal', do: 'ask' },
      ];
      expect(decided(policy, 'terminal', run('git status --short'))).toBe('allow');
      expect(decided(policy, 'terminal', run(`git status ${more}`))).toBe('ask');
    },
  );

  it('allows such characters where the pattern has them, and matches them in every other rule', () => {
    const policy: ToolRule[] = [
      { tool: 'terminal', match: 'make * && make test', do: 'allow' },
      { tool: 'terminal', match: '*rm *', do: 'deny' },
    ];
    expect(decided(policy, 'terminal', run('make all && make test'))).toBe('allow');
    expect(decided(policy, 'terminal', run('make x && rm y && make test'))).toBe('deny');
  });

  it.each([
    ["git log --grep '*;*'", "git log --grep 'a;b'", "git log --grep ''; rm -rf '~'"],
    ['echo "*|*" *', 'echo "a|b" c', 'echo "" | sh "" c'],
    ['cd *&& make', 'cd x && make', 'cd x \\&& make'],
    ['audit * | redact', 'audit x | redact', 'audit x # | redact'],
  ])('that allows %j does not allow quotes that give its characters another meaning', (match, good, bad) => {
    const policy: ToolRule[] = [{ tool: 'terminal', match, do: 'allow' }];
    expect(decided(policy, 'terminal', run(good))).toBe('allow');
    expect(decided(policy, 'terminal', run(bad))).toBeNull();
  });

  it('that has no such character allows quotes', () => {
    const policy: ToolRule[] = [{ tool: 'terminal', match: 'git commit *', do: 'allow' }];
    expect(decided(policy, 'terminal', run(`git commit -m 'it\\'s "done" #4'`))).toBe('allow');
  });

  it('does not take a command that is no text for one', () => {
    const policy: ToolRule[] = [
      { tool: 'terminal', match: 'ls', do: 'allow' },
      { tool: 'terminal', do: 'ask' },
    ];
    expect(decided(policy, 'terminal', run(['ls']))).toBe('ask');
    expect(decided(policy, 'terminal', '{"command": "ls"')).toBe('ask');
  });
});

describe('the digest of arguments', () => {
  it('is the same for the same arguments, and different for any other', () => {
    expect(canonicalArguments('{"b":[1,{"z":null,"a":"é"}],"a":true}')).toBe(
      '{"a":true,"b":[1,{"a":"é","z":null}]}',
    );
    expect(digestOfArguments('{"a":1,"b":2}')).toBe(digestOfArguments('{ "b": 2, "a": 1 }'));
    expect(digestOfArguments('')).toBe(digestOfArguments('{}'));
    expect(digestOfArguments('{"a":1}')).toMatch(/^[0-9a-f]{64}$/);
    for (const other of ['{"a":"1"}', '{"a":2}', '{"a":1,"__proto__":1}', '[]', '{"a":1', 'null']) {
      expect(digestOfArguments(other)).not.toBe(digestOfArguments('{"a":1}'));
    }
  });
});

it('arguments that nest deeper than the stack goes are shown, have a digest, and match a rule', () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const written = `{"x":${deep},"to":"all"}`;
  const policy: ToolRule[] = [{ tool: 'mcp__*', match: '*"to":"all"*', do: 'deny' }];
  expect(decided(policy, 'mcp__chat__send', written)).toBe('deny');
  expect(digestOfArguments(written)).toBe(digestOfArguments(`{"to":"all", "x":${deep}}`));
  expect(shownArguments('terminal', `{"command":"ls","x":${deep}}`).others).toBe(`{"x":${deep}}`);
});

describe('what a person is shown', () => {
  it('is the command line and every other argument', () => {
    expect(shownArguments('terminal', '{"cwd":"x","command":"a\\n\\tb","background":true}')).toEqual({
      command: 'a\n\tb',
      others: '{"background":true,"cwd":"x"}',
    });
    expect(shownArguments('terminal', '{"command":"ls"}')).toEqual({ command: 'ls', others: null });
    expect(shownArguments('mcp__a__b', '{"b":1,"a":2}')).toEqual({ command: null, others: '{"a":2,"b":1}' });
    expect(shownArguments('terminal', 'not JSON')).toEqual({ command: null, others: '"not JSON"' });
  });

  it('has no character that hides or turns text around', () => {
    const { command } = shownArguments(
      'terminal',
      JSON.stringify({ command: 'echo \u202Emr\u200B \u0007é 😀' }),
    );
    expect(command).toBe('echo \\u{202e}mr\\u{200b} \\u{7}é 😀');
    // Look like a space or like nothing: no-break space, em space, Hangul and braille fillers, a selector, a tag, a lone surrogate.
    const others = [
      '\u00a0',
      '\u2003',
      '\u3164',
      '\u2800',
      '\ufe0f',
      '\u{e0041}',
      '\ud800',
      '\u001b[2K',
      '\r',
    ];
    for (const hidden of others) {
      const shown = shownArguments('terminal', JSON.stringify({ command: `rm${hidden}x` })).command;
      expect(shown).toMatch(/^rm\\u\{[0-9a-f]+\}(\[2K)?x$/);
    }
  });
});
