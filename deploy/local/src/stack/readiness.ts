import { request } from 'node:http';

const TIMEOUT_MS = 2_000;

/** Whether `/readyz` on this admin port answers 200. */
export function isReady(adminPort: number): Promise<boolean> {
  return new Promise((resolve) => {
    // Without an agent, because a connection that stays open would delay the service's shutdown.
    const call = request(
      { host: '127.0.0.1', port: adminPort, path: '/readyz', agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    call.setTimeout(TIMEOUT_MS, () => call.destroy());
    call.once('error', () => resolve(false));
    call.once('close', () => resolve(false));
    call.end();
  });
}
