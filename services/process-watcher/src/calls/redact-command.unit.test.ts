import { expect, it } from '@jest/globals';
import { redactCommand } from './redact-command.ts';

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

it.each(['a.', ' ', 'mysql ', '-u ', '"a":', '-----BEGIN A', "'x:", 'a=', '--a ', 'sk-', 'eyJ-'])(
  'takes work in proportion to the length of a command of %j',
  (part) => {
    // Of this thread alone, in microseconds: whatever else the machine does, and however fast it is.
    const workFor = (length: number): number => {
      const command = part.repeat(length / part.length);
      const before = process.threadCpuUsage();
      redactCommand(command);
      const { user, system } = process.threadCpuUsage(before);
      return user + system;
    };
    // Twenty times as long is twenty times the work; 400 times, where a repetition without a bound looks back. Under a
    // millisecond nothing is measured well.
    expect(workFor(40_000)).toBeLessThan(100 * Math.max(1_000, workFor(2_000)));
  },
);
