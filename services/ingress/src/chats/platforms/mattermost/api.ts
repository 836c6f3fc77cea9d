import type { PlatformCall } from '../../platform.ts';
import { callJson, type JsonCall } from '../call-json.ts';

/** The URL of a call, with a proxy's path in front of it if `api_base` has one. */
export function apiUrl({ settings }: Pick<PlatformCall, 'settings'>, path: string): URL {
  return new URL(`${String(settings.target.api_base).replace(/\/+$/, '')}/api/v4${path}`);
}

export function authorization({ settings }: Pick<PlatformCall, 'settings'>): {
  readonly authorization: string;
} {
  return { authorization: `Bearer ${String(settings.target.token)}` };
}

/**
 * One call of the API v4, by the bot of `targets.mattermost`.
 * @throws CallRefused and others of call-json.ts
 */
export async function callMattermost<Result>(
  method: JsonCall['method'],
  path: string,
  context: PlatformCall,
  body?: unknown,
): Promise<Result> {
  const answer = await callJson({
    what: `Mattermost refused ${method} ${path.split('?', 1)[0]}`,
    method,
    url: apiUrl(context, path).href,
    headers: authorization(context),
    ...(body === undefined ? {} : { body }),
    signal: context.signal,
  });
  return answer as Result;
}
