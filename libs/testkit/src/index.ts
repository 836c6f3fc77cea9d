export {
  SHORT_TIMING,
  TEST_SECRET,
  TEST_SINK_SECRET,
  type TestConfigParts,
  testConfig,
  testRoute,
} from './config.ts';
export { createTestDatabase, type TestDatabase } from './database.ts';
export { closedGate, type Gate } from './gate.ts';
export { countHints, deleteHintStream, unsettledHints } from './jetstream.ts';
export type { ChatMessage, ChatRequest, ChatTool, ChatToolCall } from './model-protocol.ts';
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
} from './model-server.ts';
export { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.ts';
export { type DiscordMessage, type DiscordStandIn, startDiscord } from './platforms/discord.ts';
export { type GithubComment, type GithubStandIn, startGithub } from './platforms/github.ts';
export { type MatrixEvent, type MatrixStandIn, startMatrix } from './platforms/matrix.ts';
export { type MattermostPost, type MattermostStandIn, startMattermost } from './platforms/mattermost.ts';
export { type SlackMessage, type SlackStandIn, startSlack } from './platforms/slack.ts';
export { type ReceivedMail, type SmtpBehaviour, type SmtpStandIn, startSmtp } from './platforms/smtp.ts';
export {
  Malformed,
  type PlatformAnswer,
  type PlatformBehaviour,
  type PlatformRequest,
  type StandIn,
  type StandInPlatform,
  startStandIn,
} from './platforms/stand-in.ts';
export { startTelegram, type TelegramMessage, type TelegramStandIn } from './platforms/telegram.ts';
export { CannotParse, shownByTelegram } from './platforms/telegram-html.ts';
export { selfSigned } from './self-signed.ts';
export { type PostAnswer, type SignedPost, signatureHeaders, signedPost } from './signed-post.ts';
export {
  answer,
  type Sink,
  type SinkBehaviour,
  type SinkMessage,
  type SinkPayload,
  startSink,
} from './sink.ts';
export {
  type EventView,
  type SessionView,
  startTestStack,
  TestStack,
  type TestStackOptions,
  withTestStack,
} from './stack.ts';
export { startTlsFront, type TlsFront } from './tls-front.ts';
export { type EventuallyOptions, eventually } from './wait.ts';
