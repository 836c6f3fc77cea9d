const SECRET_KEY =
  /(^|[_\-.])(secret|token|password|passwd|api[_-]?key|authorization|cookie|credentials?|private[_-]?key|master[_-]?key|signature)s?$/i;

/** Whether a key names a secret. `apiKey` and `botToken` count as `api_key` and `bot_token`. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key) || SECRET_KEY.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2'));
}

/** Words that mark an environment variable as a secret, anywhere in its name: PGPASSWORD, AWS_SECRET_ACCESS_KEY. */
const SECRET_WORD = /(?:secret|token|password|passwd|passphrase|apikey)$|^(?:pass|credentials?)$/i;

/** Whether an environment variable, or an option of a command, holds a secret by its name. */
export function isSecretVariable(name: string): boolean {
  return isSecretKey(name) || name.split(/[_.-]/).some((word) => SECRET_WORD.test(word));
}
