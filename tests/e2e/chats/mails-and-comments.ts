import {
  callTool,
  eventually,
  type GithubStandIn,
  githubEvent,
  type ImapStandIn,
  type ModelServer,
  type SmtpStandIn,
  say,
  startGithub,
  startImap,
  startModelServer,
  startSmtp,
} from '@angelia/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addToStack, modelAt, stack } from '../shared-stack.ts';

const SECRET = 'webhook-secret-of-github';
const OURS = 'Angelia <bot@example.com>';

/** Comments and mails, all the way: what delivery recorded is found by what comes in. */
export function mailsAndComments(): void {
  let github: GithubStandIn;
  let imap: ImapStandIn;
  let smtp: SmtpStandIn;
  let model: ModelServer;
  let nextMail = 0;

  addToStack(async () => {
    [github, imap, smtp, model] = await Promise.all([
      startGithub({ token: 'ghp_secret' }),
      startImap({ user: 'bot', password: 'imap-password', tls: 'none' }),
      startSmtp({ tls: 'none' }),
      startModelServer(),
    ]);
    model.behave(async ({ input }) => say(`answer to: ${input}`));
    return {
      models: { writing: modelAt(model) },
      agents: { writing: { kind: 'llm', model: 'writing', toolsets: ['clarify'] } },
      targets: {
        github_comment: { token: 'ghp_secret', api_base: github.url },
        email: { host: smtp.host, port: smtp.port, security: 'none', from: OURS },
      },
      routes: {
        review: {
          prompt: 'Review {text}',
          agent: 'writing',
          deliver: 'github_comment',
          deliver_extra: { repo: 'octo/hello', pr_number: '21' },
        },
      },
      chats: {
        reviews: {
          platform: 'github_comment',
          webhook_secret: SECRET,
          bot_name: 'angelia-bot',
          speakers: { users: ['octocat'] },
        },
        mail: {
          platform: 'email',
          imap: {
            host: imap.host,
            port: imap.port,
            security: 'none',
            user: 'bot',
            password: 'imap-password',
          },
          authserv_id: 'mx.test',
          speakers: { users: ['jane@people.test'] },
          agent: 'writing',
        },
      },
    };
  });
  afterAll(async () => {
    await Promise.all([github?.stop(), imap?.stop(), smtp?.stop(), model?.stop()]);
    expect([github?.problems, imap?.problems]).toEqual([[], []]);
  });

  const comment = (id: number, body: string, secret = SECRET) => {
    const event = githubEvent({ id, body, number: 21, secret });
    const url = new URL('/chats/github_comment/reviews', stack.baseUrl);
    return fetch(url, { method: 'POST', headers: event.headers, body: event.body });
  };
  const commented = (text: string) =>
    eventually(() => github.comments.some(({ body }) => body.includes(text)), {
      describe: () => `${text} in ${JSON.stringify(github.comments)}`,
    });

  function mail(text: string, headers: Record<string, string>): void {
    nextMail += 1;
    const all = {
      'Authentication-Results': 'mx.test; dkim=pass header.d=people.test',
      From: 'Jane <jane@people.test>',
      Date: new Date().toUTCString(),
      'Message-ID': `<m${nextMail}@people.test>`,
      ...headers,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    imap.add(`${lines.join('\n')}\n\n${text}`);
  }
  const mailed = (text: string) =>
    eventually(() => smtp.mails.find(({ mail: { text: sent } }) => sent?.includes(text)), {
      describe: () => `${text} in ${JSON.stringify(smtp.mails.map(({ raw }) => raw))}`,
    });

  describe('comments and mails', () => {
    it('a comment below the answer of a webhook is the next turn of its session', async () => {
      const before = github.comments.length;
      const { sessionId: id } = await stack.post({ route: 'review', body: { text: 'a.ts' } });
      await commented('answer to: Review a.ts');
      await stack.waitForEnd(id, { settled: true });
      expect((await comment(9_001, '@angelia-bot and b.ts', 'forged')).status).toBe(401);
      expect((await comment(9_001, '@angelia-bot and b.ts')).status).toBe(200);
      await commented('and b.ts');
      const continued = await eventually(async () => {
        const { items } = await stack.adminGet<{ items: { id: string }[] }>('/v1/sessions?route=review');
        const all = await Promise.all(items.map((one) => stack.session(one.id)));
        const found = all.filter(({ continues }) => continues === id);
        return found.length > 0 && found;
      });
      expect(continued).toHaveLength(1);
      // GitHub's own repeat, and a comment that is not for us.
      await comment(9_001, '@angelia-bot and b.ts');
      await comment(9_002, 'nice');
      expect(github.comments).toHaveLength(before + 2);
    });

    it('a question is answered by a comment with a number, and then says so', async () => {
      model.next(callTool('clarify', { question: 'Which branch?', choices: ['main', 'next'] }));
      const { sessionId: id } = await stack.post({ route: 'review', body: { text: 'branches' } });
      await commented('2. next');
      await comment(9_003, '2');
      await comment(9_004, '@angelia-bot 2.');
      await commented('**Answered** by octocat: next');
      await stack.waitForEnd(id, { settled: true });
      const answers = (await stack.events(id)).filter(({ type }) => type === 'clarification.answered');
      expect(answers.map(({ data }) => data.answer)).toEqual(['next']);
    });

    it('a reply to our mail is the next turn, in the same thread, and an automatic one is none', async () => {
      await eventually(() => imap.idling() === 1);
      mail('count the sheep', { Subject: 'Sheep' });
      const first = await mailed('count the sheep');
      expect(first.to).toEqual(['jane@people.test']);
      expect(first.mail.inReplyTo).toBe('<m1@people.test>');
      const ours = first.mail.messageId ?? '';
      mail('I am away', { Subject: 'Re: Sheep', 'In-Reply-To': ours, 'Auto-Submitted': 'auto-replied' });
      // The server restarts, and the connection is made again.
      imap.cut();
      mail('and the goats\n\nOn Wed, Bot wrote:\n> answer', {
        Subject: 'Re: Sheep',
        'In-Reply-To': ours,
        References: `<m1@people.test> ${ours}`,
      });
      const second = await mailed('and the goats');
      expect(second.mail.references).toBe(`<m1@people.test> ${ours}`);
      const inputs = model.requests.map(({ input }) => input);
      expect(inputs.filter((input) => /sheep|goats|away/.test(input))).toEqual([
        'Sheep\n\ncount the sheep',
        'and the goats',
      ]);
      expect(smtp.mails).toHaveLength(2);
    });
  });
}
