import { AngeliaError } from '@angelia/contracts';

/** The platform will not connect us as we are configured. Only a person can change that, so it is not tried in a loop. */
export class ChatRefused extends AngeliaError {
  override readonly name = 'ChatRefused';
  readonly code = 'chat_refused';
  readonly retryable = false;
}
