import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

interface AskedAgent {
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
  /** The client disconnected before it had its answer. */
  aborted: boolean;
}

type Behaviour = (asked: AskedAgent, response: ServerResponse) => void;

/** An agent of kind http. It checks every signature with the reference library, and answers as the test says. */
export async function startAgentService(secret: string) {
  const asked: AskedAgent[] = [];
  const problems: string[] = [];
  let behave: Behaviour = (_asked, response) => json(response, 200, { text: 'the answer' });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      try {
        new Webhook(secret).verify(text, request.headers as Record<string, string>);
      } catch (error) {
        problems.push(String(error));
      }
      const one: AskedAgent = { headers: request.headers, body: JSON.parse(text), aborted: false };
      response.on('close', () => {
        one.aborted = !response.writableFinished;
      });
      asked.push(one);
      behave(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/agent?key=in-the-url`,
    asked,
    problems,
    behave(next: Behaviour): void {
      behave = next;
    },
    stop(): Promise<void> {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
