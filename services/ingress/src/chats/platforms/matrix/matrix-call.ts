import type { PlatformCall } from '../../platform.ts';
import { callJson, type JsonCall } from '../call-json.ts';

/** One call of the client-server API, by the user of `targets.matrix`. @throws CallRefused, or an error of the connection */
export function callMatrix(
  method: JsonCall['method'],
  path: string,
  { settings, signal }: PlatformCall,
  options: Pick<JsonCall, 'body' | 'timeoutMs' | 'mostBytes'> = {},
): Promise<unknown> {
  const { api_base: base, access_token: token } = settings.target;
  return callJson({
    what: `the homeserver refused ${method} ${path.replace(/\?.*$/s, '')}`,
    method,
    url: `${String(base)}/_matrix/client/v3${path}`,
    headers: { authorization: `Bearer ${String(token)}` },
    signal,
    ...options,
  });
}
