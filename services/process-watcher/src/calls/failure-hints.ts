interface KnownFailure {
  readonly printed: RegExp;
  /** What the operator should do. */
  readonly hint: string;
}

/** What programs that people use as agents print when they fail, and what mends it. The first match counts. */
const KNOWN_FAILURES: readonly KnownFailure[] = [
  {
    // Claude Code, on stdout; the API of OpenAI.
    printed: /credit balance is too low|insufficient_quota|exceeded your current quota/i,
    hint: 'The account of the key has no credit left: add credit, or put another key into env of the agent.',
  },
  {
    // Claude Code, on stdout.
    printed: /not logged in|please run \/login/i,
    hint: 'The program has no login here, because its HOME is the directory of the session. Put ANTHROPIC_API_KEY into env of the agent.',
  },
  {
    // qwen.
    printed: /no auth type is selected/i,
    hint: 'The program has no login here, because its HOME is the directory of the session. Add --auth-type openai to command, and OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL to env of the agent.',
  },
  {
    // All of them, with a wrong or missing key.
    printed:
      /invalid (?:x-)?api.?key|incorrect api key|missing bearer|authentication_error|\b401 unauthorized/i,
    hint: 'The key was refused, or the program has none: look at env of the agent.',
  },
  {
    printed: /usage limit reached|rate.?limit.?(?:error|exceeded|reached)|too many requests/i,
    hint: 'The account has reached a limit: wait, lower max_concurrency of the agent, or raise the limit.',
  },
  {
    // codex.
    printed: /not inside a trusted directory/i,
    hint: 'Add --skip-git-repo-check to command of the agent.',
  },
  {
    // Claude Code, when a conversation is gone with the files of its session.
    printed: /no conversation found with session id/i,
    hint: 'The files of the conversation are gone: begin a new one if it cannot be resumed (docs/agents.md).',
  },
  {
    printed:
      /failed to lookup address|name does not resolve|getaddrinfo|could not resolve host|temporary failure in name resolution/i,
    hint: 'A host name cannot be resolved there: look at process_watcher.network, and put HTTPS_PROXY into env of the agent if there is a proxy.',
  },
  {
    printed:
      /self.signed certificate|unable to get local issuer certificate|unable to verify the first certificate/i,
    hint: 'A certificate is not trusted there: put NODE_EXTRA_CA_CERTS or SSL_CERT_FILE into env of the agent.',
  },
];

/** A sentence for the operator; null if what the program printed is not known. */
export function hintFor(printed: string): string | null {
  return KNOWN_FAILURES.find((known) => known.printed.test(printed))?.hint ?? null;
}
