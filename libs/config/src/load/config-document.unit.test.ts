// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is the syntax under test
import { describe, expect, it } from '@jest/globals';
import { ConfigRefused } from '../startup-error.ts';
import { parseConfigDocument } from './config-document.ts';
import { parseConfigText } from './load.ts';

function refusalOf(text: string, env: NodeJS.ProcessEnv = {}): ConfigRefused {
  try {
    parseConfigText(text, env, 'angelia.yaml');
  } catch (error) {
    if (error instanceof ConfigRefused) return error;
    throw error;
  }
  throw new Error('the config is good');
}

describe('the place of a problem', () => {
  it('is the line and the column of the value', () => {
    const text = `models:
  main: { provider: builtin, model: echo }

agents:
  default:
    model: main
    kind: lmm
`;
    expect(refusalOf(text).lines).toEqual([
      'agents.default.kind: "lmm" is not a kind of agent. Use llm, command or http. (angelia.yaml:7:11)',
    ]);
    expect(refusalOf(text).problems).toEqual([
      {
        path: 'agents.default.kind',
        line: 7,
        column: 11,
        message: '"lmm" is not a kind of agent. Use llm, command or http.',
      },
    ]);
  });

  it.each<[what: string, text: string, place: string]>([
    ['an unknown key: the key', 'secret: s3cret\nroutes:\n  r:\n    promt: x\n', 'routes.r.promt 4:5'],
    [
      'a missing key: the object',
      'routes:\n  r:\n    coalesce: { window_seconds: 3 }\n',
      'routes.r.coalesce.key 3:5',
    ],
    ['an empty value: its key', 'limits:\n  rate_limit:\nroutes: {}\n', 'limits.rate_limit 2:3'],
    [
      'an entry of a list',
      'delivery:\n  retry_schedule_seconds:\n    - 1\n    - x\n',
      'delivery.retry_schedule_seconds.1 4:7',
    ],
    ['inside of braces', 'limits: { rate_limit: many }', 'limits.rate_limit 1:23'],
    [
      'a key with dots',
      'process_watcher:\n  environment:\n    a.b: 1\n    a: { b: 2 }\n',
      'process_watcher.environment.a.b 3:10',
    ],
    [
      'behind an alias: where it is written',
      'x: &x { rate_limit: many }\nlimits: *x\n',
      'limits.rate_limit 1:21',
    ],
    ['a quoted key', '"limits": { "rate_limit": "many" }', 'limits.rate_limit 1:27'],
    ['a file of JSON', '{"limits": {"rate_limit": "many"}}', 'limits.rate_limit 1:27'],
    ['the whole file', '- a\n- b\n', '(top) 1:1'],
    [
      'after a comment and Windows line ends',
      '# hello\r\nlimits:\r\n  rate_limit: many\r\n',
      'limits.rate_limit 3:15',
    ],
    ['a name that does not exist', 'agents:\n  a:\n    model: gone\n', 'agents.a.model 3:12'],
    ['a variable that is not set', 'secret: "${NOT_SET}"', 'secret 1:9'],
  ])('for %s', (_, text, place) => {
    const { problems } = refusalOf(text);
    const places = problems.map(({ path, line, column }) => `${path} ${line}:${column}`);
    expect(places).toContain(place);
  });

  it('of a filter that is not in a list is the filter', () => {
    const text = 'secret: s3cret\nroutes:\n  r:\n    filters:\n      regex: "("\n      field: a\n';
    expect(
      refusalOf(`models: {m: {provider: builtin, model: echo}}\nagents: {default: {model: m}}\n${text}`)
        .problems,
    ).toEqual([expect.objectContaining({ path: 'routes.r.filters.0.regex', line: 6, column: 5 })]);
  });
});

describe('a file that is not YAML', () => {
  it.each<[what: string, text: string, told: string]>([
    ['a tab', 'limits:\n\trate_limit: 1\n', '2:1: the line begins with a tab. Indent with spaces.'],
    [
      'two colons',
      'routes:\n  r:\n    prompt: Say: x\n',
      '3:13: there is a second colon in the line. Put the value in quotes, or move it to a line of its own.',
    ],
    [
      'an open list',
      'a:\n  b: [1, 2\nc: 3\n',
      '2:6: a list is opened with [ and not closed with ]. Close it.',
    ],
    ['an open object', 'a: { b: 1\n', '1:4: an object is opened with { and not closed with }. Close it.'],
    [
      'an open quote',
      'a: "x\nb: 3\n',
      '3:1: a character is missing: a colon after a key, or the end of a quoted text. Write it.',
    ],
    [
      'a wrong indentation',
      'a:\n  b: 1\n c: 2\n',
      '3:1: the line does not begin in the same column as the others of its block. Correct its indentation.',
    ],
    [
      'a key twice',
      'a: 1\nb: 2\na: 3\n',
      '3:1: the key occurs twice in the same object. Remove one of them.',
    ],
    [
      'a value that starts with @',
      'a: @x\n',
      '1:4: a value cannot start with this character. Put the value in quotes.',
    ],
    [
      'two documents',
      'a: 1\n---\nb: 2\n',
      '2:1: the file holds more than one document. Remove the line --- and what follows it.',
    ],
    [
      'a key without a colon',
      'a: 1\nb\nc: 2\n',
      '2:1: a character is missing: a colon after a key, or the end of a quoted text. Write it.',
    ],
    [
      'a colon without a space',
      'a:1\nb: 2\n',
      '1:1: a key must end with a colon and a space in its own line. Write them.',
    ],
    [
      'an unknown escape',
      'a: "\\q"\n',
      '1:5: a backslash in double quotes begins an escape, and this one is unknown. Write \\\\ or use single quotes.',
    ],
    [
      'a missing comma',
      'a: { b: 1 c: 2 }',
      '1:9: a comma is missing between two entries in brackets or braces. Write it.',
    ],
    [
      'a quote inside of quotes',
      "a: 'it's'\n",
      '1:8: this cannot stand here. Check the quotes and the indentation of this line and the one before it.',
    ],
    [
      'a variable without quotes in an object',
      'a: { k: Bearer ${KEY} }\n',
      '1:17: inside { } and [ ], a text with a variable needs quotes. Write "${NAME}".',
    ],
    [
      'a variable without quotes in a list',
      'a: [${KEY}]\n',
      '1:6: inside { } and [ ], a text with a variable needs quotes. Write "${NAME}".',
    ],
    ['two anchors', 'a: &x &y 1', '1:7: a value can have one anchor (&name) only. Remove the others.'],
    [
      'an alias too often',
      `a: &a [${'1,'.repeat(30)}]\nb: &b [${'*a,'.repeat(30)}]\nc: [${'*b,'.repeat(30)}]\n`,
      '1:1: the aliases (*name) repeat too much of the file. Write less with aliases.',
    ],
  ])('with %s', (_, text, told) => {
    expect(refusalOf(text).lines).toEqual([`config file angelia.yaml:${told}`]);
  });

  it('reports the first mistake only: the others mostly follow from it', () => {
    expect(refusalOf('- a\nb: 1\n').problems).toHaveLength(1);
  });
});

it('a good file is what it says', () => {
  expect(parseConfigDocument('a: &x { b: 1 }\nc: *x\n', 'f').written).toEqual({ a: { b: 1 }, c: { b: 1 } });
});
