import type { Option } from './command.ts';

/** Every command takes them, before or after its name. */
export const globalOptions: Readonly<Record<string, Option>> = {
  url: {
    value: 'url',
    summary: 'address of ingress; else ANGELIA_URL, else http://ANGELIA_HOST:ANGELIA_PORT (127.0.0.1:8644)',
  },
  'token-file': {
    value: 'path',
    file: true,
    summary:
      'file with the admin token; else ANGELIA_ADMIN_TOKEN, else $ANGELIA_DATA/admin-token of the local stack',
  },
  json: {
    summary: 'print JSON: one document, or one per line from commands that keep running (docs/cli.md)',
  },
  output: {
    short: 'o',
    value: 'format',
    values: ['json', 'table', 'wide'],
    summary: '`json` is --json; `wide` shows every column of a table in full, however wide (table)',
  },
  help: { short: 'h', summary: 'show what the command does, with examples' },
  version: { short: 'V', summary: 'print the version' },
};

/** No option takes the token itself, because other users of the machine could read it in `ps`. */
export const refusedOptions: Readonly<Record<string, string>> = {
  token:
    'other users can read a token on the command line (ps). Use --token-file, or set ANGELIA_ADMIN_TOKEN',
};
