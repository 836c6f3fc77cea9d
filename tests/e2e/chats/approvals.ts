import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { say as answerWith, callTool, eventually, type TelegramMessage, testRoute } from '@angelia/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addToStack, stack } from '../shared-stack.ts';
import { model, newChat, SECRET, telegram } from './chat.ts';
import { change } from './webhook.ts';

// Requests for approval that are decided where they arrived. The commands leave traces, so a second run would be seen.

const ADA = { id: 7_001, first_name: 'Ada' };
const BOB = { id: 7_002, first_name: 'Bob' };
const EVE = { id: 7_003, first_name: 'Eve' };

type Update = ReturnType<typeof telegram.inbox.click>;

let traces: string;
const commandOf = (trace: string) => `echo ran >> ${join(traces, trace)}`;
const timesRun = (trace: string) =>
  existsSync(join(traces, trace)) ? readFileSync(join(traces, trace), 'utf8').trim().split('\n').length : 0;

/** A webhook whose session asks in the chat. Its input is the name of its trace. */
async function begin(trace: string, chat: number, route = 'asks-in-a-chat'): Promise<string> {
  return (await stack.post({ route, body: { text: trace, chat } })).sessionId ?? '';
}

/** The message that asks whether a command may run. */
const requestFor = (trace: string): Promise<TelegramMessage> =>
  eventually(() =>
    telegram.messages.find(({ shown, buttons }) => shown.includes(commandOf(trace)) && buttons.length > 0),
  );

const dataOf = ({ buttons }: TelegramMessage, label: string) =>
  buttons.flat().find(({ text }) => text === label)?.callback_data ?? '';

const click = (from: typeof ADA, { chatId, id }: TelegramMessage, data: string, chat = Number(chatId)) =>
  telegram.inbox.click({ chat, from, message: id, data });

/** What the one who clicked is told. */
const told = (update: Update): Promise<string> => {
  const { id } = update.callback_query as { readonly id: string };
  return eventually(() => telegram.inbox.acknowledged.get(id));
};

const of = async (id: string, type: string) =>
  (await stack.events(id)).filter((event) => event.type === type);
const decisionsOf = async (id: string) => (await of(id, 'approval.decided')).map(({ data }) => data);

async function postTo(baseUrl: string, update: Update): Promise<number> {
  const response = await fetch(new URL('/chats/telegram/home', baseUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': SECRET },
    body: JSON.stringify(update),
  });
  return response.status;
}

export function approvals(): void {
  addToStack(async () => {
    traces = mkdtempSync(join(tmpdir(), 'angelia-approved-in-chats-'));
    chmodSync(traces, 0o777);
    const route = testRoute('', {
      agent: 'asking-in-chats',
      deliver: 'telegram',
      deliver_extra: { chat_id: '{chat}' },
      tools: { approvers: [ADA, BOB].map(({ id }) => `telegram:${id}`) },
    });
    return {
      agents: {
        'asking-in-chats': {
          kind: 'llm',
          model: 'chatting',
          toolsets: ['terminal'],
          tools: { policy: [{ tool: 'terminal', do: 'ask' }] },
        },
      },
      routes: {
        'asks-in-a-chat': route,
        'asks-soon-in-a-chat': { ...route, tools: { approval_expires_seconds: 1 } },
      },
    };
  });

  describe('a request for approval in a chat', () => {
    beforeAll(async () => {
      await change('connection', 'webhook');
      await telegram.inbox.call('setWebhook', {
        url: new URL('/chats/telegram/home', stack.baseUrl).href,
        secret_token: SECRET,
      });
    });
    beforeEach(() =>
      model.behave(({ body, input }) =>
        JSON.stringify(body).includes('"role":"tool"')
          ? answerWith(`done: ${input}`)
          : callTool('terminal', { command: commandOf(input) }),
      ),
    );
    afterAll(async () => {
      await telegram.inbox.call('deleteWebhook', {});
      await change('webhook', 'connection');
      rmSync(traces, { recursive: true, force: true });
    });

    it('is decided once, although two people click at once and every replica gets both clicks', async () => {
      const id = await begin('clicked-at-once', newChat());
      const request = await requestFor('clicked-at-once');
      const approved = click(ADA, request, dataOf(request, 'Approve'));
      const denied = click(BOB, request, dataOf(request, 'Deny'));
      const [, other = ''] = stack.baseUrls;
      expect(await Promise.all([denied, approved].map((update) => postTo(other, update)))).toEqual([
        200, 200,
      ]);
      const answers = [await told(approved), await told(denied)];
      await stack.waitForEnd(id, { settled: true });
      const [decided, ...more] = await decisionsOf(id);
      expect(more).toEqual([]);
      const isApproved = decided?.decision === 'approve';
      const [first, second] = isApproved ? answers : answers.toReversed();
      expect(first).toBe(isApproved ? 'Approved.' : 'Denied.');
      expect(second).toContain(`telegram:${isApproved ? ADA.id : BOB.id}`);
      expect(timesRun('clicked-at-once')).toBe(isApproved ? 1 : 0);
      await eventually(() => request.buttons.length === 0);
      expect(request.shown).toContain(`by ${isApproved ? 'Ada' : 'Bob'}`);
    });

    it('is decided neither in another chat nor by others, and both are told', async () => {
      const id = await begin('not-yours', newChat());
      const request = await requestFor('not-yours');
      const data = dataOf(request, 'Approve');
      expect(await told(click(ADA, request, data, newChat()))).toBe('There is no such session in this chat.');
      expect(await told(click(EVE, request, data))).toContain('You may not decide');
      expect(await decisionsOf(id)).toEqual([]);
      expect(await told(click(BOB, request, dataOf(request, 'Deny')))).toBe('Denied.');
      await stack.waitForEnd(id, { settled: true });
      expect(timesRun('not-yours')).toBe(0);
    });

    it('that expired is refused, and said so', async () => {
      const chat = newChat();
      const id = await begin('too-late', chat, 'asks-soon-in-a-chat');
      await eventually(async () => (await of(id, 'approval.expired')).length > 0);
      await stack.waitForEnd(id, { settled: true });
      const [asked] = await of(id, 'approval.requested');
      // Its buttons are gone by now, so this is a click from before that comes late (libs/chats, button-data.ts).
      const uuid = Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
      const data = `a1.${uuid}.${asked?.version.toString(36)}.approve`;
      expect(await told(telegram.inbox.click({ chat, from: ADA, message: 1, data }))).toContain(
        'the time to decide is over',
      );
      expect([timesRun('too-late'), await decisionsOf(id)]).toEqual([0, []]);
    });

    it('does not approve the next one, which has other arguments', async () => {
      model.behave(({ body }) => {
        const results = JSON.stringify(body).split('"role":"tool"').length - 1;
        const commands = ['first', 'second'].map((trace) =>
          callTool('terminal', { command: commandOf(trace) }),
        );
        return commands[results] ?? answerWith('done');
      });
      const id = await begin('two commands', newChat());
      const first = await requestFor('first');
      const data = dataOf(first, 'Approve');
      expect(await told(click(ADA, first, dataOf(first, 'Deny')))).toBe('Denied.');
      const second = await requestFor('second');
      expect(await told(click(BOB, first, data))).toContain(`telegram:${ADA.id} denied it`);
      expect(await of(id, 'tool.started')).toEqual([]);
      expect(await told(click(BOB, second, dataOf(second, 'Approve')))).toBe('Approved.');
      await stack.waitForEnd(id, { settled: true });
      expect([timesRun('first'), timesRun('second')]).toEqual([0, 1]);
    });

    it('runs its command once, although ingress and the runner are killed (-9) while it is clicked', async () => {
      const id = await begin('killed', newChat());
      const request = await requestFor('killed');
      // Frozen, so that it cannot start the command before it is killed.
      stack.freeze('agent-runner');
      const clicked = click(ADA, request, dataOf(request, 'Approve'));
      await eventually(async () => (await decisionsOf(id)).length > 0, { everyMs: 1 });
      const killed = ['ingress', 'agent-runner'].map((name) => [name, stack.kill(name)] as const);
      for (const [name, pid] of killed) await stack.restarted(name, pid);
      for (const [name] of killed) await eventually(() => stack.ready(name));
      await eventually(
        () => !telegram.inbox.unconfirmed().some(({ update_id: n }) => n === clicked.update_id),
      );
      expect(await telegram.inbox.repeat(clicked)).toBe(200);
      await stack.waitForEnd(id, { settled: true });
      expect([timesRun('killed'), (await decisionsOf(id)).length]).toEqual([1, 1]);
    });
  });
}
