const SECRET_KEY =
  /(^|[_\-.])(secret|token|password|passwd|api[_-]?key|authorization|cookie|credentials?|private[_-]?key|master[_-]?key|signature)s?$/i;

/** Whether a key names a secret. `apiKey` and `botToken` count as `api_key` and `bot_token`. */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key) || SECRET_KEY.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2'));
}
