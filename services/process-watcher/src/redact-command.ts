import { isSecretKey, REDACTED, scrubber } from '@angelia/service-kit';

/** This service knows none of the config's secrets: what looks like one is taken out. */
const scrub = scrubber([]);

/** `NAME=value`, `--name=value`, `--name value`; the value perhaps in quotes. */
const ASSIGNED = /(?<![\w-])(-{0,2}[A-Za-z][\w.-]*)(=)("[^"]*"|'[^']*'|[^\s;&|'"]+)/g;
const OPTION = /(?<![\w-])(-{1,2}[A-Za-z][\w.-]*)(\s+)("[^"]*"|'[^']*'|[^\s;&|'"-][^\s;&|'"]*)/g;
/** Keys of well-known services, wherever they stand. */
const KNOWN_SHAPES =
  /\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+)/g;

/** A command line as it is recorded and shown. */
export function redactCommand(command: string): string {
  return scrub(command)
    .replace(KNOWN_SHAPES, REDACTED)
    .replace(ASSIGNED, withoutSecret)
    .replace(OPTION, withoutSecret);
}

function withoutSecret(whole: string, name: string, sign: string): string {
  return isSecretKey(name.replace(/^-+/, '')) ? `${name}${sign}${REDACTED}` : whole;
}
