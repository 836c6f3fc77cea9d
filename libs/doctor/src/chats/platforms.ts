import { neededSlackScopes, targetOptions } from '@angelia/config';
import type { ChatConfig, Config } from '@angelia/contracts';
import { at, type DryAnswer, type DryCall, dryCall } from '../dry-call.ts';
import { type Finding, fault, ok, warning } from '../finding.ts';
import { platforms } from '../targets/platforms.ts';

type ChatOf<P extends ChatConfig['platform']> = Extract<ChatConfig, { platform: P }>;

interface Asking {
  readonly check: string;
  readonly config: Config;
  /** The chat's name. */
  readonly name: string;
  readonly timeoutMs: number;
  readonly now: () => number;
}

/**
 * What the platform knows about this chat: its webhook, scopes, intents. Nothing is found if the platform cannot be asked or
 * refuses the token, because the check of the target (`target.telegram`) says so.
 */
export async function askPlatform(
  check: string,
  config: Config,
  name: string,
  options: { readonly timeoutMs: number; readonly now: () => number },
): Promise<Finding[]> {
  const chat = config.chats[name];
  const asking = { check, config, name, ...options };
  switch (chat?.platform) {
    case 'telegram':
      return [...(await telegramBotName(asking, chat)), ...(await askTelegram(asking, chat))];
    case 'slack':
      return askSlack(asking, chat);
    case 'discord':
      return askDiscord(asking, chat);
    case 'matrix':
      return askMatrix(asking, chat);
    case 'mattermost':
      return mattermostFindings(asking);
    default:
      // GitHub does not say which webhooks a repository has. A mailbox is judged by its connection.
      return [];
  }
}

/** The address that the platform should have. Null: `public_url` is not set. */
function addressOf({ config, name }: Asking, { platform }: ChatConfig): string | null {
  const base = config.public_url?.replace(/\/+$/, '');
  return base === undefined ? null : `${base}/chats/${platform}/${name}`;
}

/** Its last error stays there for ever. */
const RECENT_MS = 3_600_000;

/** https://core.telegram.org/bots/api#webhookinfo */
async function askTelegram(asking: Asking, chat: ChatOf<'telegram'>): Promise<Finding[]> {
  const { name, config, timeoutMs, now } = asking;
  const call = platforms.telegram.call(targetOptions(config, 'telegram'));
  const answer = await dryCall({ ...call, url: call.url.replace(/getMe$/, 'getWebhookInfo') }, timeoutMs);
  const info = answered(answer, (body) => at(body, 'ok') === true && at(body, 'result'));
  if (info === null) return [];
  const check = `${asking.check}.webhook`;
  const setUp = `run \`angelia chat setup ${name}\``;
  const url = textOr(at(info, 'url'), '');
  if (chat.receive === 'connection') {
    return url === ''
      ? []
      : [fault(check, `Telegram has a webhook (${hostOf(url)}), so it refuses getUpdates`, setUp)];
  }
  const wanted = addressOf(asking, chat);
  if (wanted === null) return [noPublicUrl(check, name)];
  if (url !== wanted) {
    const instead = url === '' ? 'has no webhook' : `sends updates to ${hostOf(url)}`;
    return [fault(check, `Telegram ${instead}, and not to ${wanted}`, setUp)];
  }
  const waiting = Number(at(info, 'pending_update_count') ?? 0);
  const failedAt = Number(at(info, 'last_error_date') ?? 0) * 1000;
  const words = textOr(at(info, 'last_error_message'), 'no reason');
  if (failedAt > now() - RECENT_MS) {
    const what = `the last error of the webhook, at ${new Date(failedAt).toISOString()}: ${words}`;
    const todo = `let Telegram reach ${wanted} (DNS, certificate, proxy); it then sends the waiting updates`;
    return waiting > 0
      ? [fault(check, `${waiting} update${waiting === 1 ? '' : 's'} wait; ${what}`, todo)]
      : [warning(check, what, todo)];
  }
  return [ok(check, `Telegram sends updates to ${wanted}`)];
}

/** In groups, mentions and commands name the bot (`/status@my_bot`). With another name they are taken for those of another bot. */
async function telegramBotName(
  { check, name, config, timeoutMs }: Asking,
  chat: ChatOf<'telegram'>,
): Promise<Finding[]> {
  const answer = await dryCall(platforms.telegram.call(targetOptions(config, 'telegram')), timeoutMs);
  const called = answered(answer, (body) => at(body, 'result', 'username'));
  const { bot_name: configured, mention, speakers } = chat;
  if (typeof called !== 'string') return [];
  const todo = `set chats.${name}.bot_name to ${called}`;
  if (configured === undefined) {
    const what = 'bot_name is not set, so nobody can mention the bot in a group';
    return mention && speakers.chats.length > 0 ? [warning(`${check}.bot_name`, what, todo)] : [];
  }
  if (configured.toLowerCase() === called.toLowerCase()) return [];
  const what = `Telegram calls the bot ${called}, and bot_name is ${configured}, so it hears no mention in a group`;
  return [fault(`${check}.bot_name`, what, todo)];
}

/** https://docs.slack.dev/authentication: the scopes of a token are in a header of every answer. */
async function askSlack(asking: Asking, chat: ChatOf<'slack'>): Promise<Finding[]> {
  const { check, name, config, timeoutMs } = asking;
  const options = targetOptions(config, 'slack');
  const answer = await dryCall(platforms.slack.call(options), timeoutMs);
  const scopes =
    answer.kind === 'answered' && at(answer.body, 'ok') === true
      ? answer.headers.get('x-oauth-scopes')
      : null;
  const has = new Set(scopes?.split(',').map((scope) => scope.trim()));
  const missing = scopes === null ? [] : neededSlackScopes(chat).filter((scope) => !has.has(scope));
  return [
    ...(missing.length === 0
      ? []
      : [
          fault(
            `${check}.scopes`,
            `the bot token lacks the scope${missing.length === 1 ? '' : 's'} ${missing.join(', ')}`,
            'add them under OAuth & Permissions at api.slack.com/apps, and install the app again',
          ),
        ]),
    ...(chat.receive === 'connection'
      ? await appToken(asking, options.api_base, chat.app_token)
      : addressOf(asking, chat) === null
        ? [noPublicUrl(`${check}.webhook`, name)]
        : []),
  ];
}

/** Makes an address for a connection, which is not opened. It is the one call that an app-level token is for. */
async function appToken({ check, name, timeoutMs }: Asking, base: string, token = ''): Promise<Finding[]> {
  const call: DryCall = {
    method: 'POST',
    url: `${base}/apps.connections.open`,
    headers: { authorization: `Bearer ${token}` },
  };
  const answer = await dryCall(call, timeoutMs);
  const error = answer.kind === 'answered' && at(answer.body, 'ok') === false && at(answer.body, 'error');
  if (typeof error !== 'string' || error === 'ratelimited') return [];
  return [
    fault(
      `${check}.app_token`,
      `Slack refuses the app-level token (${error})`,
      `set chats.${name}.app_token to a token with connections:write (Basic Information, App-Level Tokens), and switch on Socket Mode`,
    ),
  ];
}

/** GATEWAY_MESSAGE_CONTENT and GATEWAY_MESSAGE_CONTENT_LIMITED: https://docs.discord.com/developers/resources/application */
const MESSAGE_CONTENT_FLAGS = (1 << 18) | (1 << 19);

async function askDiscord(asking: Asking, chat: ChatOf<'discord'>): Promise<Finding[]> {
  const { check, name, config, timeoutMs } = asking;
  const call = platforms.discord.call(targetOptions(config, 'discord'));
  const answer = await dryCall(
    { ...call, url: call.url.replace(/users\/@me$/, 'applications/@me') },
    timeoutMs,
  );
  const application = answered(answer, (body) => at(body, 'id') !== undefined && body);
  if (application === null) return [];
  const flags = at(application, 'flags');
  const url = at(application, 'interactions_endpoint_url') ?? null;
  const wanted = chat.receive === 'webhook' ? addressOf(asking, chat) : null;
  if (chat.receive === 'webhook' && wanted === null) return [noPublicUrl(`${check}.webhook`, name)];
  return [
    ...(chat.receive === 'connection' && typeof flags === 'number' && (flags & MESSAGE_CONTENT_FLAGS) === 0
      ? [
          fault(
            `${check}.intents`,
            'Discord does not send this bot what people write: "Message Content Intent" is off',
            'switch it on at discord.com/developers, Bot',
          ),
        ]
      : []),
    ...(url === wanted
      ? []
      : [
          fault(
            `${check}.webhook`,
            `Discord sends commands and clicks ${typeof url === 'string' ? `to ${hostOf(url)}` : 'by the gateway'}, and not ${wanted === null ? 'by the gateway' : `to ${wanted}`}`,
            `run \`angelia chat setup ${name}\``,
          ),
        ]),
  ];
}

async function askMatrix(
  { check, name, config, timeoutMs }: Asking,
  chat: ChatOf<'matrix'>,
): Promise<Finding[]> {
  const answer = await dryCall(platforms.matrix.call(targetOptions(config, 'matrix')), timeoutMs);
  const user = answered(answer, (body) => at(body, 'user_id'));
  if (user === null || user === chat.user_id) return [];
  return [
    fault(
      `${check}.user_id`,
      `the token belongs to ${String(user)}, and not to ${chat.user_id}`,
      `correct chats.${name}.user_id, or set targets.matrix.access_token to the token of that user`,
    ),
  ];
}

function mattermostFindings({ check, config, name }: Asking): Finding[] {
  if (config.public_url !== undefined) return [];
  return [
    warning(
      `${check}.webhook`,
      'clicks and slash commands cannot arrive, because public_url is not set: questions have no buttons',
      `set public_url in the config, then run \`angelia chat setup ${name}\``,
    ),
  ];
}

const noPublicUrl = (check: string, name: string): Finding =>
  fault(
    check,
    'the platform does not know where to send updates, because public_url is not set',
    `set public_url in the config, then run \`angelia chat setup ${name}\``,
  );

/** What the answer holds; null: it was refused, or none came. */
function answered(answer: DryAnswer, read: (body: unknown) => unknown): NonNullable<unknown> | null {
  return (answer.kind === 'answered' && answer.status === 200 && read(answer.body)) || null;
}

/** An address may hold a secret in its path or query. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : 'another address');

const textOr = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);
