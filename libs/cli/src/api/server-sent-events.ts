/** One message of a stream of server-sent events. `data` is null in a message that only tells the place. */
export interface ServerSentEvent {
  readonly id: string | null;
  readonly data: string | null;
  /** How long to wait before a new connection, if the server says so. */
  readonly retryMs: number | null;
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
      const retry = Number(fieldsOf(message, 'retry:').at(-1) ?? Number.NaN);
      const retryMs = Number.isInteger(retry) ? retry : null;
      if (data.length > 0 || id !== null || retryMs !== null)
        yield { id, retryMs, data: data.length === 0 ? null : data.join('\n') };
    }
  }
}

function fieldsOf(message: string, name: string): string[] {
  return message
    .split('\n')
    .filter((line) => line.startsWith(name))
    .map((line) => line.slice(name.length).replace(/^ /, ''));
}
