import { connect } from 'node:net';
import { STREAM_NAME } from '@angelia/contracts';

/** Generous for a busy server on the same machine. */
const TIMEOUT_MS = 60_000;

/**
 * Deletes the stream of hints with all its consumers, as an operator would. It speaks the text protocol of NATS itself: only
 * libs/bus may know the client library, and a test that breaks the bus should not go through it.
 */
export async function deleteHintStream(natsUrl: string): Promise<void> {
  const reply = await request(new URL(natsUrl), `$JS.API.STREAM.DELETE.${STREAM_NAME}`);
  if (!(JSON.parse(reply) as { success?: boolean }).success)
    throw new Error(`cannot delete the stream ${STREAM_NAME}: ${reply}`);
}

/** Number of hints in the stream, whether read or not. */
export async function countHints(natsUrl: string): Promise<number> {
  const reply = await request(new URL(natsUrl), `$JS.API.STREAM.INFO.${STREAM_NAME}`);
  return (JSON.parse(reply) as { state?: { messages?: number } }).state?.messages ?? 0;
}

/** Number of hints that no consumer has acked: not delivered, or in flight. */
export async function unsettledHints(natsUrl: string): Promise<number> {
  const reply = await request(new URL(natsUrl), `$JS.API.CONSUMER.LIST.${STREAM_NAME}`);
  const { consumers = [] } = JSON.parse(reply) as {
    consumers?: { num_pending: number; num_ack_pending: number }[];
  };
  return consumers.reduce((sum, { num_pending, num_ack_pending }) => sum + num_pending + num_ack_pending, 0);
}

function request(url: URL, subject: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port || 4222), url.hostname);
    const timer = setTimeout(() => finish(() => reject(new Error(`${subject}: no reply`))), TIMEOUT_MS);
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      socket.destroy();
      settle();
    };
    let received = '';
    socket.setEncoding('utf8').on('error', (error) => finish(() => reject(error)));
    socket.on('data', (data: string) => {
      if (received === '') {
        const options = {
          verbose: false,
          user: url.username,
          pass: url.password,
          lang: 'test',
          version: '0',
          protocol: 1,
        };
        socket.write(`CONNECT ${JSON.stringify(options)}\r\nSUB reply 1\r\nPUB ${subject} reply 0\r\n\r\n`);
      }
      received += data;
      const refused = /-ERR '(.*)'/.exec(received);
      if (refused) finish(() => reject(new Error(refused[1])));
      const message = /MSG reply 1 (\d+)\r\n/.exec(received);
      if (!message) return;
      const body = received.slice(message.index + message[0].length);
      if (body.length >= Number(message[1])) finish(() => resolve(body.slice(0, Number(message[1]))));
    });
  });
}
