// A model for the check of the compose stack, with OpenAI's chat completions. For a prompt `run {"command":...}` it calls the
// tool `terminal` with that JSON (which arrives marked as untrusted) and answers with the tool's result. It repeats any other
// prompt, such as a notice about a process.
import { createServer } from 'node:http';

const PORT = 8000;

createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const message =
    body === '' ? { role: 'assistant', content: 'no question' } : answer(JSON.parse(body).messages);
  const finish_reason = message.tool_calls === undefined ? 'stop' : 'tool_calls';
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      id: 'check',
      object: 'chat.completion',
      created: 0,
      model: 'check',
      choices: [{ index: 0, message, finish_reason }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  );
}).listen(PORT);
process.on('SIGTERM', () => process.exit(0));

function answer(messages) {
  const { role, content } = messages.at(-1);
  const text = typeof content === 'string' ? content : content.map((part) => part.text).join('');
  const run = /^run [\s\S]*?(\{"command".*\})/.exec(text);
  if (role !== 'user' || run === null) return { role: 'assistant', content: `heard: ${text}` };
  const id = `call_${messages.length}`;
  const call = { id, type: 'function', function: { name: 'terminal', arguments: run[1] } };
  return { role: 'assistant', content: null, tool_calls: [call] };
}
