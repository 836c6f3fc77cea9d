// A model server with the OpenAI chat-completions protocol that answers at once, as a separate process: the bench measures what
// a session costs without the model. `/stream/v1` streams; `/whole/v1` always answers in one piece. Usage: model-stub.ts <port>

import { createServer } from 'node:http';

const [port] = process.argv.slice(2);
const text = 'A stubbed final answer of an ordinary length. '.repeat(8);
const usage = { prompt_tokens: 321, completion_tokens: 98, total_tokens: 419 };
const head = { id: 'c', created: 1, model: 'stub' };
const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
const streamed = `${chunk({ role: 'assistant', content: text }, null)}${chunk({}, 'stop', { usage })}data: [DONE]\n\n`;
const message = { role: 'assistant', content: text };
const whole = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, finish_reason: 'stop', message }],
  usage,
});

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    const stream = request.url?.startsWith('/stream/') ?? false;
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    response.end(stream ? streamed : whole);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(port), '127.0.0.1', () => process.send?.('ready'));
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
