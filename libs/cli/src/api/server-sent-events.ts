/** One message of a stream of server-sent events. `data` is null in a message that only tells the place. */
export interface ServerSentEvent {
  readonly id: string | null;
  readonly data: string | null;
}

export async function* serverSentEvents(response: Response): AsyncGenerator<ServerSentEvent> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let unread = '';
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    unread += decoder.decode(part, { stream: true });
    const messages = unread.split('\n\n');
    unread = messages.pop() ?? '';
    for (const message of messages) {
      const data = fieldsOf(message, 'data:');
      const id = fieldsOf(message, 'id:').at(-1) ?? null;
      if (data.length > 0 || id !== null) yield { id, data: data.length === 0 ? null : data.join('\n') };
    }
  }
}

function fieldsOf(message: string, name: string): string[] {
  return message
    .split('\n')
    .filter((line) => line.startsWith(name))
    .map((line) => line.slice(name.length).replace(/^ /, ''));
}
