export {
  SHORT_TIMING,
  TEST_SECRET,
  TEST_SINK_SECRET,
  type TestConfigParts,
  testConfig,
  testRoute,
} from './config.ts';
export { createTestDatabase, type TestDatabase } from './database.ts';
export { countHints, deleteHintStream } from './jetstream.ts';
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
export { type EventuallyOptions, eventually } from './wait.ts';
