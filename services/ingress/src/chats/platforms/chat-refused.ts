import { AngeliaError } from '@angelia/contracts';

/** The platform refuses the connection with this config. Only a person can change that, so it is not retried in a loop. */
export class ChatRefused extends AngeliaError {
  override readonly name = 'ChatRefused';
  readonly code = 'chat_refused';
  readonly retryable = false;
}
