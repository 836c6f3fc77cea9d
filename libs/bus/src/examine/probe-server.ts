import { connect } from 'node:net';

/**
 * Why this server (`host:port`) is not a usable NATS server. Null if it greets with INFO. Runs before the library connects:
 * if a server accepts the connection and stays silent, the library leaves the socket open for ever (seen with
 * @nats-io/transport-node 3.4.0), and a command could not end.
 */
export function probeServer(server: string, timeoutMs: number): Promise<string | null> {
  const { hostname, port } = new URL(`nats://${server}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) });
    const settle = (problem: string | null): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(problem);
    };
    const timer = setTimeout(() => settle('it does not answer in time'), timeoutMs);
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    socket.once('close', () => settle('it closes the connection'));
    socket.once('data', (data) =>
      settle(data.toString('latin1').startsWith('INFO ') ? null : 'it is not a NATS server'),
    );
  });
}
