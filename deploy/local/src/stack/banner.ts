import { createHmac } from 'node:crypto';

interface BannerFacts {
  readonly url: string;
  /** Ingress replicas beyond the first. */
  readonly otherUrls: readonly string[];
  /** Signs a browser in once. Null: ingress did not make one. */
  readonly consoleLink: string | null;
  readonly adminTokenFile: string | null;
  readonly dataDir: string;
  readonly readyInSeconds: number;
  /** Null if the user has a config: then there is no demo route to try. */
  readonly demoSecret: string | null;
  readonly routes: readonly BannerRoute[];
  /** The variables that the command line needs to find this stack, as the shell takes them: `ANGELIA_PORT=9000 `. */
  readonly assignments: string;
}

export interface BannerRoute {
  readonly name: string;
  /** `active`, `disabled` or `unusable`. */
  readonly status: string;
  /** The command line does not know the secret of a route that was made by API. */
  readonly madeByApi: boolean;
}

/** More would push the rest of the banner off the screen. */
const MOST_ROUTES = 20;
const CLI = './angelia';

/** Must not hold an apostrophe, because the command puts it between apostrophes. */
const DEMO_BODY = '{"text":"Hello from the demo"}';

/** What the user sees when the stack is ready. Every command in it can be pasted. */
export function banner(facts: BannerFacts): string {
  const token = facts.adminTokenFile ? `$(cat ${shellWord(facts.adminTokenFile)})` : '$ANGELIA_ADMIN_TOKEN';
  const lines = [
    `Angelia is ready (${facts.readyInSeconds.toFixed(1)} s)`,
    '',
    ...consoleLines(facts),
    `  webhooks     ${facts.url}/webhooks/<route>`,
    ...facts.otherUrls.map((url) => `               ${url}/webhooks/<route>`),
    `  admin token  ${facts.adminTokenFile ?? 'from ANGELIA_ADMIN_TOKEN'}`,
    `  data, logs   ${facts.dataDir}`,
  ];
  if (facts.demoSecret !== null) {
    lines.push(
      `  demo secret  ${facts.demoSecret}`,
      '',
      'Send a webhook to the demo route:',
      '',
      demoCurl(facts.url, facts.demoSecret),
    );
  }
  if (facts.routes.length > 0) lines.push('', ...routeLines(facts));
  lines.push(
    '',
    'Look at the sessions:',
    '',
    `  curl -s -H "Authorization: Bearer ${token}" ${facts.url}/v1/sessions`,
    '',
    'Ctrl-C drains and stops.',
  );
  return lines.join('\n');
}

/** Without a link, the page asks for the admin token. */
function consoleLines({ consoleLink, url, assignments }: BannerFacts): string[] {
  return [
    `  console      ${consoleLink ?? `${url}/console`}`,
    ...(consoleLink === null
      ? []
      : [`               (works once, within ten minutes; another: ${assignments}${CLI} console)`]),
  ];
}

/** The routes, each with the command that sends it a test webhook. */
function routeLines({ routes, assignments }: BannerFacts): string[] {
  const cli = `${assignments}${CLI}`;
  const shown = routes.slice(0, MOST_ROUTES);
  const width = Math.max(...shown.map(({ name }) => name.length));
  const lines = shown.map(({ name, status, madeByApi }) => {
    const command = `${cli} send ${name}${madeByApi ? ' --secret-file <file with its secret>' : ''}`;
    return `  ${name.padEnd(width)}  ${status === 'active' ? command : `(${status})`}`;
  });
  const rest = routes.length - shown.length;
  return [
    'Send a test webhook to a route:',
    '',
    ...lines,
    ...(rest > 0 ? [`  and ${rest} more: ${cli} routes list`] : []),
  ];
}

/** Signed for this body. The shell makes the delivery id, so that each paste is a new delivery. */
export function demoCurl(url: string, secret: string): string {
  const signature = createHmac('sha256', secret).update(DEMO_BODY).digest('hex');
  return [
    `  curl -s ${url}/webhooks/demo \\`,
    `    -H 'Content-Type: application/json' -H 'X-GitHub-Event: demo' \\`,
    `    -H "X-GitHub-Delivery: $(date +%s%N)" \\`,
    `    -H 'X-Hub-Signature-256: sha256=${signature}' \\`,
    `    -d '${DEMO_BODY}'`,
  ].join('\n');
}

export function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
