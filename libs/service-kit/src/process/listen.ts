import { StartupError } from '@angelia/config';
import { pause } from '@angelia/waiting';

/** A predecessor that still drains frees its port within a moment. Another program does not. */
const PORT_WAIT_MS = 5_000;
const PORT_RETRY_MS = 200;

/**
 * Calls `listen`, and again while the port is in use.
 *
 * @param variable the environment variable that sets the port, for the message
 * @throws StartupError if the port stays in use or cannot be used
 */
export async function listenWithRetry<T>(
  variable: string,
  host: string,
  port: number,
  listen: () => Promise<T>,
): Promise<T> {
  const giveUpAt = Date.now() + PORT_WAIT_MS;
  for (;;) {
    try {
      return await listen();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && Date.now() < giveUpAt) {
        await pause(PORT_RETRY_MS);
        continue;
      }
      if (code === 'EADDRINUSE') {
        throw new StartupError([
          `port ${port} (${host}): another program uses it. Stop that program, or set ${variable}`,
        ]);
      }
      if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
        throw new StartupError([
          `port ${port} (${host}): cannot listen here (${code}). Change ${variable} or the host`,
        ]);
      }
      throw error;
    }
  }
}
