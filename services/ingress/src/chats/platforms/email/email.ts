import type { SignedRequest } from '../../../webhooks/authenticate/scheme.ts';
import { readPayload } from '../../../webhooks/payload/read-payload.ts';
import type { ChatPlatform, ChatWebhook, PlatformSettings } from '../../platform.ts';
import { type ImapTiming, imapConnection } from './imap-connection.ts';
import { formOf, mailgunMail, mailgunToken, verifyMailgun } from './mailgun.ts';
import type { FormPart } from './multipart-form.ts';
import { postmarkMail, verifyPostmark } from './postmark.ts';
import { readMail } from './read-mail.ts';

/**
 * Mail: a mailbox by IMAP, or a provider that posts each mail. A reply finds its session by the Message-ID that delivery gave
 * to the mail (`In-Reply-To`, or the first of `References`).
 */
export function emailPlatform(
  options: { readonly ca?: string; readonly timing?: ImapTiming } = {},
): ChatPlatform {
  return {
    name: 'email',

    chatOf: ({ to }) => (Array.isArray(to) && typeof to[0] === 'string' ? to[0].toLowerCase() : null),
    addressOf: (chat) => ({ to: [chat] }),

    webhook,
    connection: imapConnection(options),

    setup: async ({ webhookUrl }, { settings }) => {
      const provider = providerOf(settings);
      if (provider === null) {
        return { done: [], todo: ['Nothing: ingress reads the mailbox of `imap` as soon as it runs.'] };
      }
      if (webhookUrl === null) {
        return { done: [], todo: ['Set `public_url` in the config, and run this command again.'] };
      }
      return {
        done: [],
        todo: [
          provider.name === 'mailgun'
            ? `At Mailgun, add a route for your address with the action forward("${webhookUrl}").`
            : `At Postmark, set the inbound webhook to ${webhookUrl.replace('://', '://<user>:<password>@')}, with the user and password of this chat.`,
        ],
      };
    },
  };
}

type Provider =
  | { readonly name: 'mailgun'; readonly signing_key: string }
  | { readonly name: 'postmark'; readonly user: string; readonly password: string };

// The schema of the config has checked it.
function providerOf({ chat }: PlatformSettings): Provider | null {
  return (chat.provider ?? null) as Provider | null;
}

const webhook: ChatWebhook = {
  verify(request, settings) {
    const provider = providerOf(settings);
    if (provider === null) return false;
    return provider.name === 'mailgun'
      ? verifyMailgun(request, provider.signing_key)
      : verifyPostmark(request, provider.user, provider.password);
  },
  parse(request) {
    const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(request.headers['content-type'] ?? '');
    return isJson ? readPayload(request.headers, request.body) : formOf(request);
  },
  read(body, request: SignedRequest, settings) {
    const provider = providerOf(settings);
    const mail =
      provider?.name === 'mailgun'
        ? mailgunMail(Array.isArray(body) ? (body as FormPart[]) : [], request.nowMs)
        : postmarkMail(body, request.nowMs);
    if (mail === null) return [{ kind: 'other', updateId: 'mail:unreadable', why: 'not a mail' }];
    const update = readMail(mail, settings);
    // A token of Mailgun is signed, and the mail is not.
    const oneUse = provider?.name === 'mailgun' ? mailgunToken(body as FormPart[]) : null;
    return [update.kind === 'message' && oneUse !== null ? { ...update, oneUse } : update];
  },
};

export const email = emailPlatform();
