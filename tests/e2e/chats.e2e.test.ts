import { approvals } from './chats/approvals.ts';
import { withTelegram } from './chats/chat.ts';
import { conversations } from './chats/conversations.ts';
import { discordAndMatrix } from './chats/discord-and-matrix.ts';
import { killedWhileTaking } from './chats/killed-while-taking.ts';
import { mailsAndComments } from './chats/mails-and-comments.ts';
import { slackAndMattermost } from './chats/slack-and-mattermost.ts';
import { twoReplicas } from './chats/two-replicas.ts';
import { webhook } from './chats/webhook.ts';
import { shareStack } from './shared-stack.ts';

// As in production: on a busy machine a replica would lose a shorter lead while a test counts on it.
shareStack({ replicas: 'ingress=2', timing: { lead_seconds: 5 } }, [
  withTelegram,
  conversations,
  discordAndMatrix,
  mailsAndComments,
  slackAndMattermost,
  killedWhileTaking,
  twoReplicas,
  webhook,
  approvals,
]);
