import { REDACTED, scrubber } from '@angelia/config';
import { isSecretKey } from '@angelia/contracts';

/** This service knows none of the config's secrets: what looks like one is taken out. */
const scrub = scrubber([]);

// Every repetition in the middle of these has a bound: a command of 100,000 characters must not take a second.

/** `NAME=value`, `--name=value`, `--name value`; the value perhaps in quotes. */
const ASSIGNED = /(?<![\w-])(-{0,2}[A-Za-z][\w.-]{0,100})(=)("[^"]*"|'[^']*'|[^\s;&|'"]+)/g;
const OPTION = /(?<![\w-])(-{1,2}[A-Za-z][\w.-]{0,100})(\s{1,3})("[^"]*"|'[^']*'|[^\s;&|'"-][^\s;&|'"]*)/g;
/** `"name": "value"` of JSON. */
const MEMBER = /("[A-Za-z][\w.-]{0,100}")(\s{0,3}:\s{0,3})("(?:[^"\\]|\\.)*")/g;
/** `Name: value` of a header, which ends with its quotes. */
const HEADER = /(?<=["'])([A-Za-z][\w-]{0,100})(:\s{0,3})([^"'\n]+)/g;
/** `-u name:password`, as curl has it. */
const USER_PASSWORD =
  /(?<=\s(?:-u|--user|-U|--proxy-user)[\s=]{0,3})(["']?[^\s"':]{1,100}:)(?:(?<=["'][^\s"':]{1,100}:)[^"']+|[^\s"']+)/g;
/** Programs whose `-p` is a password; elsewhere it is a port, a path or a print. */
const DASH_P =
  /\b((?:sshpass|mysql\w*|mariadb\w*|(?:docker|podman) login)\b[^;&|]{0,200}?\s-p\s{0,3})("[^"]*"|'[^']*'|[^\s;&|'"-][^\s;&|'"]*)/g;
/** Keys of well-known services, wherever they stand. */
const KNOWN_SHAPES =
  /\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,1000}\.[A-Za-z0-9_-]{10,10000}\.[A-Za-z0-9_-]+|(?<=hooks\.slack\.com\/services\/)[\w/]+|(?<=\/api\/webhooks\/)\d+\/[\w-]+)|(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}|-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----|[\s\S]*)/g;
/** Words that make a variable's name that of a secret, wherever they stand in it: PGPASSWORD, AWS_SECRET_ACCESS_KEY. */
const SECRET_WORD = /(?:secret|token|password|passwd|passphrase|apikey)$|^(?:pass|credentials?)$/i;

/** A command line as it is recorded and shown. */
export function redactCommand(command: string): string {
  return scrub(command)
    .replace(KNOWN_SHAPES, REDACTED)
    .replace(DASH_P, `$1${REDACTED}`)
    .replace(USER_PASSWORD, `$1${REDACTED}`)
    .replace(MEMBER, withoutSecret)
    .replace(HEADER, withoutSecret)
    .replace(ASSIGNED, withoutSecret)
    .replace(OPTION, withoutSecret);
}

function withoutSecret(whole: string, name: string, sign: string, value: string): string {
  if (value.includes(REDACTED)) return whole;
  return namesSecret(name.replace(/^-+|"/g, '')) ? `${name}${sign}${REDACTED}` : whole;
}

function namesSecret(name: string): boolean {
  return isSecretKey(name) || name.split(/[_.-]/).some((word) => SECRET_WORD.test(word));
}
