import {
  type PlatformAnswer,
  type PlatformBehaviour,
  type SmtpBehaviour,
  selfSigned,
  startGithub,
  startMatrix,
  startMattermost,
  startSink,
  startSmtp,
} from '@angelia/testkit';
import { httpTarget } from '../http/http.ts';
import { emailTarget } from '../platforms/email.ts';
import { githubCommentTarget } from '../platforms/github-comment.ts';
import { logTarget } from '../platforms/log.ts';
import { matrixTarget } from '../platforms/matrix.ts';
import { mattermostTarget } from '../platforms/mattermost.ts';
import { discordHarness, slackHarness, telegramHarness } from './chat-harnesses.ts';
import { BUSY_SECONDS, type TargetHarness, type Trouble } from './contract.ts';

/** Each target with a stand-in of its platform. A new target gets an entry here, and the whole contract runs on it. */
export const harnesses: Readonly<Record<string, () => Promise<TargetHarness>>> = {
  log: logHarness,
  http: httpHarness,
  telegram: telegramHarness,
  slack: slackHarness,
  discord: discordHarness,
  github_comment: githubHarness,
  email: emailHarness,
  matrix: matrixHarness,
  mattermost: mattermostHarness,
};

async function logHarness(): Promise<TargetHarness> {
  const shown: string[] = [];
  return {
    target: logTarget({ info: (fields) => shown.push(String(fields.text)) }),
    settings: {},
    to: {},
    credentials: [],
    saysHowLong: false,
    shown: () => shown,
    problems: () => [],
    stop: async () => {},
  };
}

async function httpHarness(): Promise<TargetHarness> {
  const secret = `whsec_${Buffer.from('contract secret of http').toString('base64')}`;
  const sink = await startSink({ secret });
  const statuses: Partial<Record<Trouble, number>> = {
    gone: 410,
    'credential-refused': 401,
    busy: 429,
    down: 503,
    garbled: 200,
  };
  return {
    target: httpTarget(),
    settings: { secret, headers: { authorization: 'Bearer http-header-secret' } },
    to: { url: sink.url },
    credentials: [secret, secret.slice(6), 'http-header-secret'],
    saysHowLong: true,
    shown: () => sink.taken().map(({ payload }) => payload.text),
    next: (...troubles) =>
      sink.next(
        ...troubles.map((trouble) => {
          const status = statuses[trouble];
          return status === undefined
            ? { kind: trouble as 'reset' | 'hang' | 'cut-off' }
            : {
                kind: 'answer' as const,
                status,
                ...(trouble === 'busy' ? { retryAfter: `${BUSY_SECONDS}` } : {}),
              };
        }),
      ),
    problems: () => sink.received.filter(({ signature }) => signature !== 'valid').map(() => 'a signature'),
    stop: sink.stop,
  };
}

/** A trouble as an HTTP platform has it. `answers` are its answers for those that it reports. */
export function behaviourOf(
  trouble: Trouble,
  answers: Readonly<Record<'gone' | 'credential-refused' | 'busy' | 'down', PlatformAnswer>>,
): PlatformBehaviour {
  switch (trouble) {
    case 'reset':
    case 'hang':
    case 'cut-off':
    case 'garbled':
      return { kind: trouble };
    default:
      return { kind: 'answer', answer: answers[trouble] };
  }
}

async function githubHarness(): Promise<TargetHarness> {
  const token = 'ghp_contract_credential';
  const github = await startGithub({ token });
  const answers = {
    gone: { status: 404, body: { message: 'Not Found' } },
    'credential-refused': { status: 401, body: { message: 'Bad credentials' } },
    busy: {
      status: 403,
      body: { message: 'You have exceeded a secondary rate limit.' },
      headers: { 'retry-after': `${BUSY_SECONDS}` },
    },
    down: { status: 503, body: '<html>Unicorn!</html>' },
  };
  return {
    target: githubCommentTarget(),
    settings: { token, api_base: github.url },
    to: { repo: 'octo/hello', pr_number: '7' },
    credentials: [token],
    saysHowLong: true,
    shown: () => github.comments.map(({ body }) => body.replaceAll(/<!--.*?-->/g, '')),
    next: (...troubles) => github.next(...troubles.map((trouble) => behaviourOf(trouble, answers))),
    problems: () => github.problems,
    stop: github.stop,
  };
}

async function mattermostHarness(): Promise<TargetHarness> {
  const token = 'mattermost-contract-credential';
  const mattermost = await startMattermost({ token });
  const answers = {
    gone: { status: 403, body: { id: 'api.context.permissions.app_error', message: 'No permission.' } },
    'credential-refused': {
      status: 401,
      body: { message: 'Invalid or expired session, please login again.' },
    },
    busy: { status: 429, body: 'limit exceeded', headers: { 'retry-after': `${BUSY_SECONDS}` } },
    down: { status: 503, body: '' },
  };
  return {
    target: mattermostTarget(),
    settings: { token, api_base: mattermost.url },
    to: { channel_id: 'channel0000000000000000001' },
    credentials: [token],
    saysHowLong: true,
    shown: () => mattermost.posts.map(({ message }) => message),
    next: (...troubles) => mattermost.next(...troubles.map((trouble) => behaviourOf(trouble, answers))),
    problems: () => mattermost.problems,
    stop: mattermost.stop,
  };
}

async function matrixHarness(): Promise<TargetHarness> {
  const token = 'syt_contract_credential';
  const matrix = await startMatrix({ token });
  const answers = {
    gone: { status: 403, body: { errcode: 'M_FORBIDDEN', error: 'User @bot:hs.test not in room' } },
    'credential-refused': {
      status: 401,
      body: { errcode: 'M_UNKNOWN_TOKEN', error: 'Unrecognised access token' },
    },
    busy: {
      status: 429,
      body: { errcode: 'M_LIMIT_EXCEEDED', error: 'Too Many', retry_after_ms: BUSY_SECONDS * 1000 },
    },
    down: { status: 503, body: '' },
  };
  const relationOf = (content: Readonly<Record<string, unknown>>) =>
    (content['m.relates_to'] ?? {}) as { rel_type?: string; event_id?: string };
  return {
    target: matrixTarget(),
    settings: { access_token: token, api_base: matrix.url },
    to: { room_id: '!room:hs.test' },
    credentials: [token],
    saysHowLong: true,
    // As a client shows it: the HTML, with the last edit of an event.
    shown: () =>
      matrix.events
        .filter(({ content }) => relationOf(content).rel_type !== 'm.replace')
        .map(({ id, content }) => {
          const edits = matrix.events.filter((event) => relationOf(event.content).event_id === id);
          const last = edits.at(-1)?.content['m.new_content'] ?? content;
          return htmlAsText((last as { formatted_body: string }).formatted_body);
        }),
    next: (...troubles) => matrix.next(...troubles.map((trouble) => behaviourOf(trouble, answers))),
    problems: () => matrix.problems,
    stop: matrix.stop,
  };
}

async function emailHarness(): Promise<TargetHarness> {
  const password = 'smtp-contract-credential';
  const smtp = await startSmtp({ user: 'bot', password, ...selfSigned });
  const behaviours: Readonly<Record<Trouble, SmtpBehaviour>> = {
    gone: { kind: 'refuse', at: 'RCPT', code: 550, text: '5.1.1 No such user here' },
    'credential-refused': {
      kind: 'refuse',
      at: 'AUTH',
      code: 535,
      text: '5.7.8 Authentication credentials invalid',
    },
    busy: { kind: 'refuse', at: 'RCPT', code: 450, text: '4.2.1 Mailbox receives mail too fast' },
    down: { kind: 'refuse', at: 'MAIL', code: 451, text: '4.3.2 Service shutting down' },
    reset: { kind: 'reset' },
    hang: { kind: 'hang' },
    'cut-off': { kind: 'cut-off' },
    garbled: { kind: 'garbled' },
  };
  return {
    target: emailTarget({ ca: selfSigned.cert }),
    settings: {
      host: 'localhost',
      port: smtp.port,
      security: 'starttls',
      user: 'bot',
      password,
      from: 'bot@example.com',
    },
    to: { to: ['a@example.com'] },
    credentials: [password, Buffer.from(password).toString('base64')],
    saysHowLong: false,
    shown: () => smtp.mails.map(({ mail }) => htmlAsText(mail.html ?? '')),
    next: (...troubles) => smtp.next(...troubles.map((trouble) => behaviours[trouble])),
    problems: () =>
      smtp.mails.filter(({ secure, user }) => !secure || user !== 'bot').map(() => 'an open line'),
    stop: smtp.stop,
  };
}

/** About what a browser shows of our own HTML. */
function htmlAsText(html: string): string {
  return html
    .replace(/^[\s\S]*<body>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
