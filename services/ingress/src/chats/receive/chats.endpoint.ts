import type { RunningConfig } from '@angelia/config';
import { CONFIG, LOGGER, type Logger } from '@angelia/service-kit';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from '../../http/answer-error.ts';
import { clientNetworkOf } from '../../http/client-network.ts';
import type { IngressSettings } from '../../settings.ts';
import { readBody } from '../../webhooks/receive/read-body.ts';
import { WebhookEndpoint } from '../../webhooks/webhook.endpoint.ts';
import { ChatTaking } from '../take/chat-taking.ts';
import { openChat, receiveUpdate } from './receive-update.ts';

type ChatPost = FastifyRequest<{ Params: { platform: string; name: string } }>;

/**
 * `POST /chats/:platform/:name`. On Fastify itself, as webhooks are: the body must stay the bytes that were signed. It shares
 * the budget for bodies of senders that are not authenticated yet (invariant strangers-cost-little).
 */
@Injectable()
export class ChatsEndpoint implements OnModuleInit {
  constructor(
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
    @Inject(CONFIG) private readonly config: RunningConfig<IngressSettings>,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(WebhookEndpoint) private readonly webhooks: WebhookEndpoint,
    @Inject(ChatTaking) private readonly taking: ChatTaking,
  ) {}

  onModuleInit(): void {
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    fastify.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(['application/json', '*'], (request, payload, done) =>
        readBody(
          payload,
          {
            budget: this.webhooks.budget,
            network: () => clientNetworkOf(request.ip),
            limit: this.config.current.limits.max_body_bytes,
          },
          done,
        ),
      );
      scope.setErrorHandler((error, request, reply) => {
        const { unexpected } = answerError(reply, error);
        if (unexpected) this.logger.error({ err: error, url: request.url }, 'an update of a chat failed');
      });
      scope.post<{ Params: { platform: string; name: string } }>('/chats/:platform/:name', {
        // Before the body is read, so that nobody sends a megabyte to a chat that does not exist.
        onRequest: ({ params }: ChatPost, _reply: FastifyReply, done: () => void): void => {
          openChat(this.config.settings.chats, params.platform, params.name);
          done();
        },
        handler: async (request: ChatPost, reply) => {
          const { headers, body, params, url } = request;
          // A sender that does not read our answers keeps its requests in memory, and one connection can have many.
          request.body = undefined;
          const opened = openChat(this.config.settings.chats, params.platform, params.name);
          const answer = await receiveUpdate(this.taking, opened, { headers, body, url });
          reply.code(answer.status);
          // Also 200: Slack shows whatever a body has.
          if (answer.status === 204 || answer.body === undefined) return reply.send();
          return answer.body;
        },
      });
    });
  }
}
