import { parseConfig, receivedFileSchema } from '@angelia/contracts';
import { describe, expect, it } from '@jest/globals';
import { compileChats } from '../../chat.ts';
import type { ChatFile, ChatMessage } from '../../platform.ts';
import { bringFiles } from './bring-files.ts';
import { receivedPath } from './received-path.ts';

const PNG = 'iVBORw0KGgo=';

function chatWith(types: readonly string[]) {
  const parsed = parseConfig({
    models: { main: { provider: 'builtin', model: 'echo' } },
    agents: {
      default: { model: 'main', toolsets: ['terminal'] },
      program: { kind: 'command', command: ['true'] },
      elsewhere: { kind: 'command', command: ['true'], cwd: '/srv' },
    },
    targets: { telegram: { bot_token: '4711:test-bot-token' } },
    chats: { home: { platform: 'telegram', files: { take: true, max_bytes: 3_145_728, types } } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const chat = compileChats(parsed.config).get('home');
  if (chat === undefined) throw new Error('there is no chat');
  return chat;
}

const file = (name: string, mimeType: string | null, content: string | Buffer): ChatFile => ({
  id: name,
  name,
  mimeType,
  bytes: content.length,
  content: Buffer.from(content),
});
const message = (...files: ChatFile[]) => ({ files, updateId: '4711:1' }) as unknown as ChatMessage;
const TYPES = ['application/pdf', 'application/zip', 'text/csv', 'image/png'];

describe('the files of a message', () => {
  it('are put into the directory of a session that can open them: documents, and texts and images as well', async () => {
    const brought = await bringFiles(
      chatWith(TYPES),
      message(
        file('report.pdf', 'application/pdf', '%PDF-1.7'),
        file('table.csv', 'text/csv', 'a,b'),
        file('plot.png', 'image/png', Buffer.from(PNG, 'base64')),
      ),
      true,
    );
    expect(brought.refused).toEqual([]);
    expect(brought.images).toEqual([{ mime_type: 'image/png', data: PNG }]);
    const [pdf, csv, png] = brought.files;
    expect(pdf).toMatchObject({
      mime_type: 'application/pdf',
      data: Buffer.from('%PDF-1.7').toString('base64'),
    });
    // The image is in the event once.
    expect(png).toMatchObject({ image: 1 });
    expect(png).not.toHaveProperty('data');
    for (const [index, one] of [pdf, csv, png].entries()) {
      expect(receivedFileSchema.parse(one)).toEqual(one);
      expect(brought.notes[index]).toContain(`It is in your working directory: ${one?.path}, `);
    }
    expect(brought.notes[1]).toContain('\na,b\n');
    expect(brought.notes[2]).toContain('[image 1: image/png');
  });

  it('are refused where nobody can open them, and said so', async () => {
    const { files, refused } = await bringFiles(
      chatWith(TYPES),
      message(file('report.pdf', 'application/pdf', '%PDF-1.7')),
      false,
    );
    expect(files).toEqual([]);
    expect(refused).toEqual([
      'I did not take report.pdf, application/pdf: this agent can open only images and texts.',
    ]);
  });

  it('need a type that is listed and content that agrees with it, whatever their name says', async () => {
    const { files, refused } = await bringFiles(
      chatWith(TYPES),
      message(
        file('a.pdf', 'application/pdf', 'MZ'),
        file('b.zip', 'application/zip', 'MZ'),
        file('c.exe', 'application/x-msdownload', 'MZ'),
        file('d.pdf', 'application/octet-stream', '%PDF-'),
        file('e.pdf', null, '%PDF-'),
        file('f.pdf', 'application/pdf', ''),
      ),
      true,
    );
    expect(files.map(({ path }) => path.slice(-5))).toEqual(['d.pdf', 'e.pdf']);
    expect(refused.map((why) => why.split(': ')[1])).toEqual([
      'its content is not application/pdf.',
      'its content is not application/zip.',
      'files of type application/x-msdownload are not taken here.',
      'it is empty.',
    ]);
  });

  it('are bounded together, since an event keeps them', async () => {
    const large = `%PDF-${'x'.repeat(2_000_000)}`;
    const { files, refused } = await bringFiles(
      chatWith(TYPES),
      message(file('a.pdf', 'application/pdf', large), file('b.pdf', 'application/pdf', large)),
      true,
    );
    expect(files).toHaveLength(1);
    expect(refused).toEqual([expect.stringContaining('the files of the message are too large in total')]);
  });

  it('that are texts too long for the message are there for commands only', async () => {
    const csv = file('long.csv', 'text/csv', 'a,b\n'.repeat(20_000));
    const [opened, unopened] = await Promise.all(
      [true, false].map((forCommands) => bringFiles(chatWith(TYPES), message(csv), forCommands)),
    );
    expect(opened?.files).toHaveLength(1);
    expect(opened?.notes.join('')).not.toContain('a,b');
    expect(unopened?.refused).toHaveLength(1);
  });
});

describe('the path of a file', () => {
  it.each([
    ['../../etc/passwd', 'passwd'],
    ['..', '..'],
    ['C:\\docs\\report.pdf', 'report.pdf'],
    ['my report; rm -rf $HOME.pdf', 'my_report_rm_-rf_HOME.pdf'],
    ['-rf', '-rf'],
    ['\u202Efdp.exe', '_fdp.exe'],
    ['a\0b\nc', 'a_b_c'],
    ['Jahresübersicht 2026.pdf', 'Jahresübersicht_2026.pdf'],
    ['', 'file'],
    ['\ud800', '_'],
    [`${'ü'.repeat(200)}.pdf`, `${'ü'.repeat(52)}.pdf`],
  ])('of %j is one safe name below one directory', (name, end) => {
    const path = receivedPath('4711:1', 0, name);
    expect(path).toMatch(/^received\/[0-9a-f]{8}-/);
    expect(path.slice('received/00000000-'.length)).toBe(end);
    expect(receivedFileSchema.safeParse({ path, mime_type: 'text/plain', data: '' }).success).toBe(true);
    expect(Buffer.byteLength(path)).toBeLessThan(255);
  });

  it('is the same for a message that is taken again, and another for every other file', () => {
    expect(receivedPath('4711:1', 0, 'a.pdf')).toBe(receivedPath('4711:1', 0, 'a.pdf'));
    const others = [receivedPath('4711:1', 1, 'a.pdf'), receivedPath('4711:2', 0, 'a.pdf')];
    expect(new Set([receivedPath('4711:1', 0, 'a.pdf'), ...others]).size).toBe(3);
  });

  it.each(['/etc/passwd', '../x', 'received/../x', 'received/.x', 'received/a/b', 'received/a\n', 'work/x'])(
    'is refused when an event has %j',
    (path) => {
      expect(receivedFileSchema.safeParse({ path, mime_type: 'a/b', data: '' }).success).toBe(false);
    },
  );
});

it('files are for agents with a terminal, and for programs in the directory of the session', () => {
  const { opensFiles } = chatWith(TYPES);
  expect(opensFiles('default', null)).toBe(true);
  expect(opensFiles('default', [])).toBe(false);
  expect(opensFiles('program', null)).toBe(true);
  expect(opensFiles('elsewhere', null)).toBe(false);
  expect(opensFiles('gone', null)).toBe(false);
});
