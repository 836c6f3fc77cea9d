import { expect, it } from '@jest/globals';
import { REDACTIONS, redactCommand } from './redact-command.ts';

it.each([
  ['curl -H "Authorization: Bearer abcdef123456" x', 'curl -H "Authorization: Bearer [redacted]" x'],
  ['psql postgres://me:hunter2@db/x', 'psql postgres://me:[redacted]@db/x'],
  ['API_KEY=abc deploy', 'API_KEY=[redacted] deploy'],
  ['export MY_TOKEN="a b c" && run', 'export MY_TOKEN=[redacted] && run'],
  ['login --password hunter2 --user me', 'login --password [redacted] --user me'],
  ['login --api-key=hunter2', 'login --api-key=[redacted]'],
  ['echo sk-abcdefghijklmnopqrstuv', 'echo [redacted]'],
  [
    'git clone https://ghp_abcdefghijklmnopqrstuvwxyz0123@github.com/a/b',
    'git clone https://[redacted]@github.com/a/b',
  ],
  ['curl -u admin:hunter2 https://x', 'curl -u admin:[redacted] https://x'],
  ["curl --user 'admin:hun ter' x", "curl --user 'admin:[redacted]' x"],
  ["curl -H 'X-Api-Key: abcdef123456' x", "curl -H 'X-Api-Key: [redacted]' x"],
  ['curl -H "Authorization: token abcdef" x', 'curl -H "Authorization: [redacted]" x'],
  [`curl -d '{"user":"me","password": "hunter2"}' x`, `curl -d '{"user":"me","password": [redacted]}' x`],
  ["curl 'https://x/?api_key=abcdef&y=1'", "curl 'https://x/?api_key=[redacted]&y=1'"],
  ['AWS_SECRET_ACCESS_KEY=abc/def+1 aws s3 ls', 'AWS_SECRET_ACCESS_KEY=[redacted] aws s3 ls'],
  ["PGPASSWORD='a b' DB_PASS=x psql", 'PGPASSWORD=[redacted] DB_PASS=[redacted] psql'],
  ['mysql -u root -phunter2 db', 'mysql -u root -p[redacted] db'],
  ['sshpass -p hunter2 ssh x', 'sshpass -p [redacted] ssh x'],
  ['docker login -u me -p hunter2', 'docker login -u me -p [redacted]'],
  [
    'curl https://api.telegram.org/bot123456789:AAtelegram-credential_of_35_letters_/getMe',
    'curl https://api.telegram.org/bot[redacted]/getMe',
  ],
  ['curl https://hooks.slack.com/services/T0/B0/abcdef', 'curl https://hooks.slack.com/services/[redacted]'],
  ['echo "-----BEGIN RSA PRIVATE KEY-----\nabc" > k', 'echo "[redacted]'],
  ['mkdir -p a/b; AUTHOR=me make -k COMPASS=1', 'mkdir -p a/b; AUTHOR=me make -k COMPASS=1'],
  ['make TARGET=token all; echo password is wrong', 'make TARGET=token all; echo password is wrong'],
])('%s', (command, shown) => {
  expect(redactCommand(command)).toBe(shown);
});

/**
 * Repetitions without a bound that are not the last thing in their pattern. They are safe, because each one stops before
 * the next place where its pattern can begin, or runs to the end of the text only once.
 */
const SAFE = [
  '"[^"]*"',
  "'[^']*'",
  String.raw`"(?:[^"\\]|\\.)*"`,
  String.raw`mysql\w*`,
  String.raw`mariadb\w*`,
  String.raw`\/api\/webhooks\/)\d+\/`,
  '-----BEGIN [A-Z ]*PRIVATE KEY-----',
  String.raw`[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----`,
];

/** Whether nothing of the pattern follows: only other alternatives, and the ends of groups. */
function isLast(rest: string): boolean {
  if (rest === '') return true;
  if (rest.startsWith(')')) return isLast(rest.slice(1));
  if (!rest.startsWith('|')) return false;
  let depth = 0;
  for (const { 0: token, index } of rest.matchAll(/\\.|\[(?:\\.|[^\]])*\]|[()]/g)) {
    if (token === '(') depth += 1;
    if (token === ')' && depth === 0) return isLast(rest.slice(index + 1));
    if (token === ')') depth -= 1;
  }
  return true;
}

// A repetition that can run to the end of the text from each place where it may begin, and fail there, takes work that grows
// with the square of the length.
it.each(REDACTIONS.map(({ pattern }) => pattern.source))(
  'a pattern has no repetition without a bound in its middle: %s',
  (source) => {
    const rest = SAFE.reduce((text, safe) => text.replaceAll(safe, ''), source);
    const unbounded = [...rest.matchAll(/(?:\[(?:\\.|[^\]])*\]|\\.|[.)\w])(?:[*+]|\{\d+,\})\??/g)];
    const inTheMiddle = unbounded.filter(({ 0: found, index }) => !isLast(rest.slice(index + found.length)));
    expect(inTheMiddle.map(([found]) => found)).toEqual([]);
  },
);
