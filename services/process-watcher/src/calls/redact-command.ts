import { REDACTED, scrubber } from '@angelia/config';
import { isSecretVariable } from '@angelia/contracts';

/** This service knows none of the config's secrets, so it removes what looks like one. */
const scrub = scrubber([]);

// A repetition in the middle of these has a bound, so that a command of 100,000 characters does not take a second. The unit
// test lists the exceptions.

/** `NAME=value`, `--name=value` and `--name value`. The value may be in quotes. */
const ASSIGNED = /(?<![\w-])(-{0,2}[A-Za-z][\w.-]{0,100})(=)("[^"]*"|'[^']*'|[^\s;&|'"]+)/g;
const OPTION = /(?<![\w-])(-{1,2}[A-Za-z][\w.-]{0,100})(\s{1,3})("[^"]*"|'[^']*'|[^\s;&|'"-][^\s;&|'"]*)/g;
/** `"name": "value"` in JSON. */
const MEMBER = /("[A-Za-z][\w.-]{0,100}")(\s{0,3}:\s{0,3})("(?:[^"\\]|\\.)*")/g;
/** `Name: value` of a header, up to the closing quote. */
const HEADER = /(?<=["'])([A-Za-z][\w-]{0,100})(:\s{0,3})([^"'\n]+)/g;
/** `-u name:password` of curl. */
const USER_PASSWORD =
  /(?<=\s(?:-u|--user|-U|--proxy-user)[\s=]{0,3})(["']?[^\s"':]{1,100}:)(?:(?<=["'][^\s"':]{1,100}:)[^"']+|[^\s"']+)/g;
/** Programs whose `-p` is a password. In others it is a port or a path. */
const DASH_P =
  /\b((?:sshpass|mysql\w*|mariadb\w*|(?:docker|podman) login)\b[^;&|]{0,200}?\s-p\s{0,3})("[^"]*"|'[^']*'|[^\s;&|'"-][^\s;&|'"]*)/g;
/** Keys of well-known services, anywhere in the text. */
const KNOWN_SHAPES =
  /\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,1000}\.[A-Za-z0-9_-]{10,10000}\.[A-Za-z0-9_-]+|(?<=hooks\.slack\.com\/services\/)[\w/]+|(?<=\/api\/webhooks\/)\d+\/[\w-]+)|(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----|[\s\S]*)/g;

/** In this order. `replace` gets the match and its groups. */
export const REDACTIONS: readonly {
  readonly pattern: RegExp;
  readonly replace: (whole: string, ...groups: string[]) => string;
}[] = [
  { pattern: KNOWN_SHAPES, replace: () => REDACTED },
  { pattern: DASH_P, replace: (_whole, before) => `${before}${REDACTED}` },
  { pattern: USER_PASSWORD, replace: (_whole, before) => `${before}${REDACTED}` },
  ...[MEMBER, HEADER, ASSIGNED, OPTION].map((pattern) => ({ pattern, replace: withoutSecret })),
];

/** A command line without its secrets, as it is recorded and shown. */
export function redactCommand(command: string): string {
  return REDACTIONS.reduce((text, { pattern, replace }) => text.replace(pattern, replace), scrub(command));
}

function withoutSecret(whole: string, name = '', sign = '', value = ''): string {
  if (value.includes(REDACTED)) return whole;
  return isSecretVariable(name.replace(/^-+|"/g, '')) ? `${name}${sign}${REDACTED}` : whole;
}
