import { request } from 'node:http';

const TIMEOUT_MS = 2_000;

/** Whether `/readyz` on this admin port says 200. */
export function isReady(adminPort: number): Promise<boolean> {
  return new Promise((resolve) => {
    // No agent: a kept connection would hold up the service's shutdown.
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
