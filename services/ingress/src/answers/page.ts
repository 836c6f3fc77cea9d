import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import type { ApprovalJson } from './approval-links.operations.ts';
import type { Question } from './question.ts';
import { markdownHtml } from './text/markdown-html.ts';
import { escaped, foreign, visibleText } from './text/visible-text.ts';

/** Readable in every browser and screen reader: no script, one style sheet, system fonts, dark mode if preferred. */
const STYLE = `:root{color-scheme:light dark}
body{font:1.125rem/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem;background:Canvas;color:CanvasText}
h1{font-size:1.25rem}body,pre{overflow-wrap:anywhere}pre,.plain{white-space:pre-wrap}
pre{border:1px solid;border-radius:.5rem;padding:1rem}blockquote{margin-left:0;padding-left:1rem;border-left:3px solid}
table{border-collapse:collapse}th,td{border:1px solid;padding:.25rem .5rem;text-align:left}
fieldset{border:1px solid;border-radius:.5rem;padding:1rem;margin:0}
label{display:block;padding:.5rem 0}
textarea{font:inherit;width:100%;box-sizing:border-box}
button{font:inherit;padding:.5rem 1.5rem;margin-top:1rem}`;

/**
 * Allows only our own style and our own form, because the page shows what a model wrote. No referrer, no frame, no cache,
 * no index, because the address contains the key.
 */
const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; form-action 'self'; ` +
    "base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  'cache-control': 'no-store',
};

export function sendPage(reply: FastifyReply, status: number, html: string): void {
  reply.code(status).headers(HEADERS).send(html);
}

export function questionPage(question: Question, problem: string | null = null): string {
  const { choices, title } = question;
  const other = choices.length > 0 ? 'other' : 'answer';
  const choose =
    choices.length > 0
      ? `<fieldset><legend>Choose one</legend>${choices.map(choiceField).join('')}</fieldset>\n`
      : '';
  const label = choices.length > 0 ? 'Or write another answer. It replaces the choice' : 'Your answer';
  return page(
    `Question: ${title}`,
    `<h1>${foreign(title === '' ? 'A question' : title)}</h1>
${whoAsks(question)}
${markdownHtml(question.question)}
${problem === null ? '' : `<p role="alert"><strong>${escaped(problem)}</strong></p>\n`}<form method="post">
${choose}<label for="${other}">${label}</label><textarea id="${other}" name="${other}" rows="${choices.length > 0 ? 2 : 5}"${choices.length > 0 ? '' : ' required autofocus'}></textarea>
<button type="submit">Send</button>
</form>
<p><small>Until <time datetime="${escaped(question.deadline)}">${escaped(readable(question.deadline))}</time>. This link can be used once.</small></p>`,
  );
}

/** Shows everything that runs if it is approved, so that nothing is decided that was not seen. */
export function approvalPage(
  request: ApprovalJson & { readonly rule: { readonly match: string | null } },
): string {
  const { tool, title, rule, approvers } = request;
  const { command, others } = request.shown;
  const later =
    rule.match === null
      ? `every call of <code>${foreign(tool)}</code> that its policy asks about`
      : `every call of <code>${foreign(tool)}</code> that matches <code>${foreign(rule.match)}</code>` +
        (command === null ? '' : ' and appends no other command');
  // Letters of a right-to-left script would reverse the rest of a command.
  const shown = [command, others].flatMap((text) =>
    text === null ? [] : [`<pre><bdo dir="ltr">${escaped(text)}</bdo></pre>`],
  );
  return page(
    `Approval: ${title}`,
    `<h1>May it run <code>${foreign(tool)}</code>?</h1>
${shown.join('\n')}
${whoAsks({ ...request, sessionId: request.session_id })}
${approvers.length === 0 ? '' : `<p><small>May decide: ${approvers.map(foreign).join(', ')}</small></p>\n`}<form method="post">
<input type="hidden" name="digest" value="${escaped(request.digest)}">
<fieldset><legend>If you approve, it is for</legend>
<label><input type="radio" name="scope" value="once" checked> this call</label>
<label><input type="radio" name="scope" value="session"> this session: ${later}</label>
</fieldset>
<label for="reason">Reason, which the agent reads if you deny</label><textarea id="reason" name="reason" rows="2" maxlength="2000"></textarea>
<button type="submit" name="decision" value="approve">Approve</button>
<button type="submit" name="decision" value="deny">Deny</button>
</form>
<p><small>Denied unless approved by <time datetime="${escaped(request.expires_at)}">${escaped(readable(request.expires_at))}</time>. This link can be used once.</small></p>`,
  );
}

function whoAsks(asked: {
  readonly agent: string;
  readonly route: string;
  readonly title: string;
  readonly sessionId: string;
}): string {
  return `<p>Agent <strong>${foreign(asked.agent)}</strong> (route <strong>${foreign(asked.route)}</strong>) asks, for <strong>${foreign(asked.title)}</strong><br><small>session ${escaped(asked.sessionId)}</small></p>`;
}

export function messagePage(heading: string, text: string): string {
  return page(heading, `<h1>${escaped(heading)}</h1>\n<p>${escaped(text)}</p>`);
}

function choiceField(choice: string): string {
  return `<label><input type="radio" name="answer" value="${escaped(choice)}"> ${foreign(choice)}</label>`;
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(visibleText(title))}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
}

/** `2026-11-16 07:20 UTC`: the reader may be in any time zone, and without a script the page does not know which. */
function readable(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}
