import { say as answerWith, callTool, eventually } from '@angelia/testkit';
import { describe, expect, it } from '@jest/globals';
import { stack } from '../shared-stack.ts';
import {
  answersIn,
  holdAnswersTo,
  model,
  newChat,
  sessionTitled,
  shown,
  telegram,
  titled,
  turnsOf,
} from './chat.ts';

// The seeds again, over a chat.

async function transcriptOf(id: string): Promise<{ role: string; content: string }[]> {
  const { messages } = await stack.adminGet<{ messages: { role: string; content: string }[] }>(
    `/v1/sessions/${id}/transcript`,
  );
  return messages;
}

export function conversations(): void {
  describe('a conversation in a chat', () => {
    it('is answered there; /status shows the full id and title, and that id resumes', async () => {
      const chat = newChat();
      telegram.inbox.say({ chat, text: 'Count the sheep' });
      await shown(chat, 'answer to: Count the sheep');
      const { id } = await sessionTitled('Count the sheep');
      await stack.waitForEnd(id, { settled: true });

      telegram.inbox.say({ chat, text: '/status' });
      const status = await shown(chat, id);
      expect(status).toContain('Count the sheep');
      const [read] = /[0-9a-f-]{36}/.exec(status) ?? [];
      telegram.inbox.say({ chat, text: `/resume ${read}` });
      const [resumed] = await eventually(async () => {
        const found = await titled('Count the sheep');
        return found.length === 2 && found;
      });
      expect(await stack.session(resumed?.id ?? '')).toMatchObject({ continues: id });
      await stack.waitForEnd(resumed?.id ?? '');
    });

    it('takes ten messages during one run: in order, roles alternate, each answered once', async () => {
      const chat = newChat();
      const open = holdAnswersTo('the long work');
      telegram.inbox.say({ chat, text: 'the long work' });
      const { id } = await sessionTitled('the long work');
      await eventually(() => model.requests.some(({ input }) => input === 'the long work'));
      const more = Array.from({ length: 10 }, (_, n) => `message number ${n}`);
      for (const text of more) telegram.inbox.say({ chat, text });
      await eventually(async () => (await turnsOf(id)).length === 11);
      await shown(chat, 'I have your message and will read it when “the long work” is done.');
      open();
      await stack.waitForEnd(id);
      const messages = await transcriptOf(id);
      expect(messages.map(({ role }) => role)).toEqual(Array(11).fill(['user', 'assistant']).flat());
      expect(messages.filter(({ role }) => role === 'user').map(({ content }) => content)).toEqual([
        'the long work',
        ...more,
      ]);
      const asked = model.requests.map(({ input }) => input).filter((input) => more.includes(input));
      expect(asked).toEqual(more);
    });

    it('that is over stays over when everything is killed and starts again', async () => {
      const topic = 9;
      const chat = -newChat();
      telegram.inbox.say({
        chat,
        from: { id: 5 },
        text: 'a finished topic',
        topic,
        more: mentionUs('a finished topic'),
      });
      const { id } = await sessionTitled('a finished topic');
      const { version, generation } = await stack.waitForEnd(id, { settled: true });
      const names = ['agent-runner', 'delivery', 'ingress', 'ingress-2'];
      const killed = names.map((name) => [name, stack.kill(name)] as const);
      for (const [name, pid] of killed) await stack.restarted(name, pid);
      for (const name of names) await eventually(() => stack.ready(name));
      // Something new goes its whole way through what started again.
      const other = newChat();
      telegram.inbox.say({ chat: other, text: 'after the restart' });
      await shown(other, 'answer to: after the restart');
      expect(await stack.session(id)).toMatchObject({ version, generation, status: 'ended' });
      expect(model.requests.filter(({ input }) => input.includes('a finished topic'))).toHaveLength(1);
    });

    it('has one timer of "Still working", also after its runner was killed', async () => {
      const open = holdAnswersTo('slow work');
      telegram.inbox.say({ chat: newChat(), text: 'slow work' });
      const { id } = await sessionTitled('slow work');
      const statuses = async (generation: number) =>
        (await stack.events(id))
          .filter(({ type, data }) => type === 'session.interim-status' && data.generation === generation)
          .map(({ data }) => Number(data.sequence));
      await eventually(async () => (await statuses(1)).length >= 2);
      await stack.restarted('agent-runner', stack.kill('agent-runner'));
      await eventually(async () => (await statuses(2)).length >= 2);
      open();
      await stack.waitForEnd(id);
      // A second timer would say a number twice, or say something for a run that is over.
      const events = (await stack.events(id)).filter(({ type }) => type === 'session.interim-status');
      const said = events.map(({ data }) => [Number(data.generation), Number(data.sequence)] as const);
      const inOrder = [...said].sort(([a, m], [b, n]) => a - b || m - n);
      expect(said).toEqual(inOrder);
      expect(new Set(said.map(String)).size).toBe(said.length);
    });

    it('has the file that an answer names, and a line in place of one that leads out of the directory', async () => {
      const chat = newChat();
      model.behave(({ body }) =>
        JSON.stringify(body).includes('"role":"tool"')
          ? answerWith('Here: [table](out/table.csv) and ![host](host.txt).')
          : callTool('terminal', {
              command: 'mkdir out && echo 1,2 > out/table.csv && ln -s /etc/hostname host.txt',
            }),
      );
      telegram.inbox.say({ chat, text: 'make a table' });
      expect(await shown(chat, 'was not sent')).toBe(
        'host.txt was not sent: it is not an ordinary file in the directory of the session.',
      );
      const sent = telegram.documents.filter(({ chatId }) => chatId === String(chat));
      expect(sent.map(({ name, type, bytes }) => [name, type, bytes.toString()])).toEqual([
        ['table.csv', 'text/csv', '1,2\n'],
      ]);
      await stack.waitForEnd((await sessionTitled('make a table')).id, { settled: true });
    });

    it('has a file of a message in its directory before its first command, also after a kill of the watcher', async () => {
      const chat = newChat();
      model.behave(({ body, input }) => {
        const said = JSON.stringify(body);
        const [path] = /received\/[0-9a-f]{8}-report\.pdf/.exec(input) ?? [];
        if (said.includes('"role":"tool"')) {
          return answerWith(said.includes('%PDF-1.7 the figures') ? 'I have read it.' : 'There is nothing.');
        }
        return callTool('terminal', { command: `cat ${path}` });
      });
      const file_id = telegram.upload('%PDF-1.7 the figures');
      const document = { file_id, file_name: 'report.pdf', mime_type: 'application/pdf', file_size: 20 };
      const gone = stack.kill('process-watcher');
      telegram.inbox.say({ chat, text: '', more: { text: undefined, caption: 'read the report', document } });
      const { id } = await sessionTitled('read the report');
      await eventually(async () => (await stack.events(id)).some(({ type }) => type === 'tool.started'));
      await stack.restarted('process-watcher', gone);
      await shown(chat, 'I have read it.');
      await stack.waitForEnd(id, { settled: true });
    });

    it('that is stopped hears nothing of its process, which is killed then', async () => {
      const chat = newChat();
      model.behave(({ body, input }) =>
        input === 'start a process' && !JSON.stringify(body).includes('"role":"tool"')
          ? callTool('terminal', { command: 'read line', background: true, notify_on_complete: true })
          : answerWith('it runs'),
      );
      telegram.inbox.say({ chat, text: 'start a process' });
      await shown(chat, 'it runs');
      const { id } = await sessionTitled('start a process');
      telegram.inbox.say({ chat, text: '/stop' });
      await shown(chat, 'I have stopped “start a process”');
      const [process] = await eventually(async () => {
        const { items } = await stack.adminGet<{ items: { id: string }[] }>(`/v1/processes?session=${id}`);
        return items.length > 0 && items;
      });
      const killed = await fetch(new URL(`/v1/processes/${process?.id}/kill`, stack.baseUrl), {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.adminToken}` },
      });
      expect(killed.status).toBe(202);
      await eventually(async () =>
        (await stack.events(id)).some(({ type }) => /^process\.(exited|lost)$/.test(type)),
      );
      await stack.waitForEnd(id, { settled: true });
      expect(await turnsOf(id)).toEqual(['start a process']);
      expect(answersIn(chat)).toEqual(['it runs', expect.stringContaining('I have stopped')]);
    });
  });
}

/** The bot has no name in this config, so people mention it by its profile. */
function mentionUs(text: string): Record<string, unknown> {
  const user = { id: 4711, is_bot: true, first_name: 'Bot' };
  return { entities: [{ type: 'text_mention', offset: text.length, length: 0, user }] };
}
