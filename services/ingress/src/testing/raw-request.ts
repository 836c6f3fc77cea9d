import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Uses node:http and not fetch, for bodies in chunks, odd headers, and answers before the body is sent. */
export function rawRequest(options: {
  readonly url: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Several parts are sent in chunks, without a content-length. */
  readonly body?: string | Buffer | readonly (string | Buffer)[];
}): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let answered = false;
    const request = httpRequest(
      options.url,
      { method: options.method ?? 'POST', headers: options.headers ?? {}, agent: false },
      (response) => {
        answered = true;
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(parts).toString(),
          }),
        );
      },
    );
    // The server may refuse a body and close the connection while we still write.
    request.on('error', (error) => {
      if (!answered) reject(error);
    });
    if (Array.isArray(options.body)) {
      for (const part of options.body) request.write(part);
      request.end();
    } else {
      request.end(options.body as string | Buffer | undefined);
    }
  });
}

/** Sends raw bytes, for input that is not HTTP. */
export function rawBytes(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}
