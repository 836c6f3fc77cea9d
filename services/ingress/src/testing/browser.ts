import { expectPromised } from './api-call.ts';
import { ADMIN_TOKEN, type TestIngress } from './ingress.ts';
import { type RawAnswer, rawRequest } from './raw-request.ts';

export interface BrowserCall {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface BrowserAnswer {
  readonly status: number;
  readonly headers: RawAnswer['headers'];
  readonly body: Record<string, unknown>;
}

/** Does with the cookie what a browser does, on whichever replica it is sent to. Answers must match the OpenAPI document. */
export class Browser {
  cookie: string | null = null;
  csrfToken: string | null = null;

  async call(ingress: TestIngress, path: string, call: BrowserCall = {}): Promise<BrowserAnswer> {
    const { method = 'GET', body } = call;
    const answer = await rawRequest({
      url: `${ingress.baseUrl}${path}`,
      method,
      headers: {
        ...(this.cookie === null ? {} : { cookie: `theme=dark; ${this.cookie}; x=1` }),
        ...(this.csrfToken === null ? {} : { 'x-angelia-csrf': this.csrfToken }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const [set] = [answer.headers['set-cookie'] ?? []].flat();
    if (set !== undefined) this.cookie = /^angelia_session=(?!;)[^;]*/.exec(set)?.[0] ?? null;
    const json = (answer.text === '' ? {} : JSON.parse(answer.text)) as Record<string, unknown>;
    if (answer.status !== 204) expectPromised(method, path, answer.status, json);
    return { status: answer.status, headers: answer.headers, body: json };
  }

  async signIn(
    ingress: TestIngress,
    by: { readonly code: string } | { readonly token: string } = { token: ADMIN_TOKEN },
    headers: Readonly<Record<string, string>> = {},
  ): Promise<BrowserAnswer> {
    const answer = await this.call(ingress, '/console/session', { method: 'POST', body: by, headers });
    if (answer.status === 200) this.csrfToken = String(answer.body.csrf_token);
    return answer;
  }
}

export async function signedInBrowser(ingress: TestIngress): Promise<Browser> {
  const browser = new Browser();
  const { status } = await browser.signIn(ingress);
  if (status !== 200) throw new Error(`sign-in was answered with ${status}`);
  return browser;
}

/** The code of a new link. */
export async function newCode(ingress: TestIngress): Promise<string> {
  const answer = await new Browser().call(ingress, '/v1/console/links', {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  if (answer.status !== 201) throw new Error(`a link was answered with ${answer.status}`);
  return new URL(String(answer.body.url)).hash.slice(1);
}
