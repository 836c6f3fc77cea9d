export { createTestDatabase, PATIENT, type TestDatabase } from '@angelia/event-log/testing';
export {
  callTool,
  callTools,
  fail,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  say,
  startModelServer,
  type ToolCallStep,
  tooLong,
} from './models/model-server.ts';
export { selfSigned } from './network/self-signed-certificate.ts';
export { startTlsFront, type TlsFront } from './network/tls-front.ts';
export {
  type ServerSocket,
  startWebSocketServer,
  type WebSocketHandlers,
  type WebSocketServer,
} from './network/websocket-server.ts';
export { type DiscordStandIn, startDiscord } from './platforms/discord.ts';
export { discordClick, discordCommand, discordMessage } from './platforms/discord-payloads.ts';
export { type GithubStandIn, startGithub } from './platforms/github.ts';
export { type GithubEventOptions, githubEvent } from './platforms/github-events.ts';
export { type ImapStandIn, startImap } from './platforms/imap.ts';
export { type MatrixStandIn, startMatrix } from './platforms/matrix.ts';
export {
  MATTERMOST_BOT,
  type MattermostSaid,
  type MattermostStandIn,
  startMattermost,
} from './platforms/mattermost.ts';
export { answer, type Sink, type SinkBehaviour, type SinkPayload, startSink } from './platforms/sink.ts';
export { type SlackStandIn, startSlack } from './platforms/slack.ts';
export type { SlackSocketMode } from './platforms/slack-socket-mode.ts';
export {
  SLACK_APP,
  SLACK_BOT,
  SLACK_TEAM,
  slackClick,
  slackCommand,
  slackEvent,
  slackMessage,
  slackRequest,
  slackTs,
} from './platforms/slack-updates.ts';
export { type SmtpBehaviour, type SmtpStandIn, startSmtp } from './platforms/smtp.ts';
export {
  type PlatformAnswer,
  type PlatformBehaviour,
  type StandIn,
  startStandIn,
} from './platforms/stand-in.ts';
export { startTelegram, type TelegramMessage, type TelegramStandIn } from './platforms/telegram.ts';
export { shownByTelegram } from './platforms/telegram-html.ts';
export type { TelegramInbox } from './platforms/telegram-inbox.ts';
export { countHints, deleteHintStream, unsettledHints } from './stack/hint-stream.ts';
export {
  type OtlpReceiver,
  type ReceivedMetric,
  type ReceivedSpan,
  startOtlpReceiver,
} from './stack/otlp-receiver.ts';
export { type PostAnswer, signatureHeaders, signedPost } from './stack/signed-post.ts';
export {
  SHORT_TIMING,
  TEST_SECRET,
  TEST_SINK_SECRET,
  type TestConfigParts,
  testConfig,
  testRoute,
} from './stack/test-config.ts';
export {
  type EventView,
  startTestStack,
  TestStack,
  type TestStackOptions,
  withTestStack,
} from './stack/test-stack.ts';
export { closedGate } from './waiting/command-gate.ts';
export { eventually } from './waiting/eventually.ts';
