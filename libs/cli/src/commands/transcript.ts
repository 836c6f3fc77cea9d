import type { Message } from '../api/types.ts';
import { defineCommand } from '../command-line/command.ts';
import type { Style } from '../terminal/style.ts';
import { sessionArgument, sessionPath } from './session-argument.ts';

export const transcript = defineCommand({
  name: 'transcript',
  summary: 'show the conversation as the model sees it',
  arguments: [sessionArgument],
  examples: [
    { command: 'angelia transcript 01a1e281-20d9-7563-b8f1-427765d52c50', does: 'who said what' },
    {
      command:
        "angelia transcript 01a1e281-20d9-7563-b8f1-427765d52c50 --json | jq -r '.messages[-1].content'",
      does: 'only the last message',
    },
  ],
  calls: ['get /v1/sessions/{id}/transcript'],
  run: async ({ api, given, out }) => {
    const answer = await api().get<{ messages: Message[] }>(`${sessionPath(given)}/transcript`);
    out.answer(answer, () => answer.messages.map((message) => messageText(message, out.style)).join('\n\n'));
    return undefined;
  },
});

const TONES = { user: 'accent', assistant: 'good', tool: 'warn' } as const;

function messageText(message: Message, style: Style): string {
  const { role, content, tool_calls: calls = [], tool_call_id: call } = message;
  const head = [role, call, message.silent === true ? 'silent' : undefined].filter(
    (part) => part !== undefined,
  );
  return [
    style(TONES[role], head.join(' ')),
    ...(content === '' ? [] : [content]),
    ...calls.map(({ id, name, arguments: args }) => style('dim', `calls ${name} ${args} (${id})`)),
  ].join('\n');
}
