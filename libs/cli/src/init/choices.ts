// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is a variable of the config
import { randomBytes } from 'node:crypto';

// What `angelia init` can put together. A new sender, model or target is an entry here.

/** A value that the user is asked for. It becomes a key of the YAML. */
export interface Question {
  /** The name for `--set name=value`. */
  readonly name: string;
  readonly ask: string;
  readonly default?: string;
}

/** A secret. It stands in `.env`; the YAML only names it. */
export interface Variable {
  readonly name: string;
  readonly ask: string;
  /** We make it, and the user copies it to the other side. */
  readonly make?: () => string;
  readonly optional?: true;
}

export interface Sender {
  readonly label: string;
  readonly route: string;
  readonly secret: Variable;
  /** Keys of the route, as lines of YAML. */
  readonly lines: readonly string[];
  /** What to do at the sender. */
  readonly setUp: string;
}

export interface Model {
  readonly label: string;
  readonly key?: Variable;
  readonly questions: readonly Question[];
  /** The model's entry, as lines of YAML. */
  readonly lines: (answers: Answers) => readonly string[];
}

export interface Target {
  readonly label: string;
  /** Only for these senders: the place comes from their payload. */
  readonly senders?: readonly string[];
  readonly credential?: Variable;
  readonly questions: readonly Question[];
  /** The target's entry, as lines of YAML. */
  readonly lines: (answers: Answers) => readonly string[];
  /** The route's `deliver_extra`, if its place does not come from the entry. */
  readonly extra?: (answers: Answers) => string;
}

/** The answers to the questions, by their names. */
export type Answers = Readonly<Record<string, string>>;

/** A text of the user as YAML: JSON is YAML. */
export const yamlText = (text: string | undefined): string => JSON.stringify(text ?? '');

const hex = () => randomBytes(24).toString('hex');
const whsec = () => `whsec_${randomBytes(32).toString('base64')}`;
const ours = (name: string): Variable => ({ name, ask: 'a string that sender and Angelia share', make: hex });

export const senders: Readonly<Record<string, Sender>> = {
  github: {
    label: 'GitHub, pull requests',
    route: 'github-pr',
    secret: ours('GITHUB_WEBHOOK_SECRET'),
    lines: [
      'auth: github',
      'events: [pull_request]',
      '# Other webhooks are ignored; `angelia webhooks list` says why.',
      'filters: [{ field: action, in: [opened, synchronize] }]',
      'prompt: "Review pull request #{number}: {pull_request.title}\\n\\n{pull_request.body}"',
      'title: "{repository.full_name}#{number}"',
      '# Webhooks of one pull request are turns of one session. A push cancels a review that is under way.',
      'session_key: "{repository.full_name}#{number}"',
      'on_busy: interrupt',
    ],
    setUp: 'GitHub: Settings, Webhooks: content type application/json, the secret, the event "Pull requests"',
  },
  gitlab: {
    label: 'GitLab, merge requests',
    route: 'gitlab-mr',
    secret: ours('GITLAB_WEBHOOK_SECRET'),
    lines: [
      'auth: gitlab',
      'events: [merge_request.open, merge_request.update]',
      'prompt: "Review !{object_attributes.iid} of {project.path_with_namespace}: {object_attributes.title}"',
      'title: "!{object_attributes.iid}"',
      'session_key: "{project.id}-{object_attributes.iid}"',
    ],
    setUp: 'GitLab: Settings, Webhooks: the secret token, the trigger "Merge request events"',
  },
  stripe: {
    label: 'Stripe, disputes',
    route: 'stripe-dispute',
    secret: { name: 'STRIPE_SIGNING_SECRET', ask: 'signing secret of the endpoint (whsec_...)' },
    lines: [
      'auth: stripe',
      'events: [charge.dispute.created]',
      'prompt: "A charge is disputed, reason {data.object.reason}. Draft the answer.\\n\\n{data.object}"',
      'title: "Dispute {data.object.id}"',
    ],
    setUp: 'Stripe: Developers, Webhooks: add an endpoint with the event "charge.dispute.created"',
  },
  alertmanager: {
    label: 'Alertmanager',
    route: 'alerts',
    secret: ours('ALERTS_TOKEN'),
    lines: [
      'auth: bearer',
      'filters: [{ field: status, equals: firing }]',
      'prompt: "{commonLabels.alertname} fires: {commonAnnotations.summary}\\n\\n{alerts}"',
      'title: "{commonLabels.alertname}"',
      '# Alerts of one group that fire together are looked at together.',
      'coalesce: { key: "{groupKey}", window_seconds: 20, max_wait_seconds: 120 }',
    ],
    setUp:
      'Alertmanager: webhook_configs with send_resolved: false and http_config: { authorization: { credentials: <ALERTS_TOKEN> } }',
  },
  other: {
    label: 'anything that sends JSON with a bearer token',
    route: 'inbox',
    secret: ours('INBOX_TOKEN'),
    lines: [
      'auth: bearer',
      '# The whole body. {field} and {nested.field} are parts of it.',
      'prompt: "{__raw__}"',
    ],
    setUp: 'the sender: POST JSON with the header Authorization: Bearer <INBOX_TOKEN>',
  },
};

export const models: Readonly<Record<string, Model>> = {
  openai: {
    label: 'OpenAI',
    key: { name: 'OPENAI_API_KEY', ask: 'key of the OpenAI API' },
    questions: [{ name: 'model', ask: 'model', default: 'gpt-5-mini' }],
    lines: ({ model }) => ['provider: openai', `model: ${yamlText(model)}`],
  },
  anthropic: {
    label: 'Anthropic',
    key: { name: 'ANTHROPIC_API_KEY', ask: 'key of the Anthropic API' },
    questions: [{ name: 'model', ask: 'model', default: 'claude-sonnet-4-5' }],
    lines: ({ model }) => ['provider: anthropic', `model: ${yamlText(model)}`],
  },
  'openai-compatible': {
    label: 'another server with {base_url}/chat/completions (Ollama, vLLM, llama-server, a gateway)',
    key: { name: 'MODEL_KEY', ask: 'its key, or empty if it needs none', optional: true },
    questions: [
      { name: 'base_url', ask: 'its base_url', default: 'http://127.0.0.1:11434/v1' },
      { name: 'model', ask: 'model' },
    ],
    lines: ({ base_url, model }) => [
      'provider: openai-compatible',
      `base_url: ${yamlText(base_url)}`,
      `model: ${yamlText(model)}`,
    ],
  },
  echo: {
    label: 'none yet: repeat what was asked (needs no key)',
    questions: [],
    lines: () => ['provider: builtin', 'model: echo'],
  },
};

export const targets: Readonly<Record<string, Target>> = {
  log: { label: 'the terminal (the log of delivery)', questions: [], lines: () => [] },
  telegram: {
    label: 'Telegram',
    credential: { name: 'TELEGRAM_TOKEN', ask: 'token of the bot, from @BotFather' },
    questions: [{ name: 'chat_id', ask: 'id of the chat (a group has a negative one)' }],
    lines: ({ chat_id }) => ['bot_token: ${TELEGRAM_TOKEN}', `chat_id: ${yamlText(chat_id)}`],
  },
  slack: {
    label: 'Slack',
    credential: { name: 'SLACK_TOKEN', ask: 'token of the bot (xoxb-...)' },
    questions: [{ name: 'channel', ask: 'id of the channel (C...)' }],
    lines: ({ channel }) => ['bot_token: ${SLACK_TOKEN}', `channel: ${yamlText(channel)}`],
  },
  discord: {
    label: 'Discord',
    credential: { name: 'DISCORD_TOKEN', ask: 'token of the bot' },
    questions: [{ name: 'channel_id', ask: 'id of the channel' }],
    lines: ({ channel_id }) => ['bot_token: ${DISCORD_TOKEN}', `channel_id: ${yamlText(channel_id)}`],
  },
  github_comment: {
    label: 'a comment on the pull request',
    senders: ['github'],
    credential: { name: 'GITHUB_TOKEN', ask: 'token that may write issues and pull requests' },
    questions: [],
    lines: () => ['token: ${GITHUB_TOKEN}'],
    extra: () => '{ repo: "{repository.full_name}", pr_number: "{number}" }',
  },
  email: {
    label: 'e-mail',
    credential: { name: 'SMTP_PASSWORD', ask: 'password of the mailbox' },
    questions: [
      { name: 'host', ask: 'SMTP server' },
      { name: 'user', ask: 'user' },
      { name: 'from', ask: 'sender' },
      { name: 'to', ask: 'recipient' },
    ],
    lines: ({ host, user, from, to }) => [
      `host: ${yamlText(host)}`,
      'security: starttls',
      `user: ${yamlText(user)}`,
      'password: ${SMTP_PASSWORD}',
      `from: ${yamlText(from)}`,
      `to: [${yamlText(to)}]`,
    ],
  },
  matrix: {
    label: 'Matrix',
    credential: { name: 'MATRIX_TOKEN', ask: 'access token of its user' },
    questions: [
      { name: 'api_base', ask: 'address of the homeserver (https://...)' },
      { name: 'room_id', ask: 'room (!id or #alias)' },
    ],
    lines: ({ api_base, room_id }) => [
      `api_base: ${yamlText(api_base)}`,
      'access_token: ${MATRIX_TOKEN}',
      `room_id: ${yamlText(room_id)}`,
    ],
  },
  mattermost: {
    label: 'Mattermost',
    credential: { name: 'MATTERMOST_TOKEN', ask: 'token of the bot' },
    questions: [
      { name: 'api_base', ask: 'address of the server (https://...)' },
      { name: 'channel_id', ask: 'id of the channel' },
    ],
    lines: ({ api_base, channel_id }) => [
      `api_base: ${yamlText(api_base)}`,
      'token: ${MATTERMOST_TOKEN}',
      `channel_id: ${yamlText(channel_id)}`,
    ],
  },
  http: {
    label: 'your own service, by a signed POST',
    credential: { name: 'OUTGOING_SECRET', ask: 'secret that your service verifies with', make: whsec },
    questions: [{ name: 'url', ask: 'address (https://...)' }],
    lines: () => ['secret: ${OUTGOING_SECRET}'],
    extra: ({ url }) => `{ url: ${yamlText(url)} }`,
  },
};
