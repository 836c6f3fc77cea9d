import { open } from 'node:fs/promises';
import type { OutgoingHttpHeaders } from 'node:http';
import { fileURLToPath } from 'node:url';
import { LOGGER, type Logger } from '@angelia/service-kit';
import { Inject, Injectable, NotFoundException, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerError } from '../../http/answer-error.ts';
import { Refusal } from '../../http/refusal.ts';
import {
  type Bundle,
  type BundleFile,
  type FileForm,
  formFor,
  indexChangedAt,
  readBundle,
} from './bundle-files.ts';
import { Downloads } from './downloads.ts';

/** In the work tree and in the image. */
const DIRECTORY = fileURLToPath(new URL('../../../../../libs/console/dist/', import.meta.url));
/** Forty browsers at once: each has six connections. Their buffers take 4 MB together. */
const MOST_DOWNLOADS = 256;
/** How often a request for the page looks whether there is another build. */
const LOOK_EVERY_MS = 1_000;
/** Names of files under assets/ contain a hash of their content, so a browser need never ask again. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/**
 * Only our own files, and no inline script or style: the page shows what models, senders and commands wrote. `data:` is for
 * the favicon with a count in it.
 */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'x-robots-tag': 'noindex, nofollow',
};

/**
 * The files of the console (libs/console), which the build made and compressed. They are public: they hold no secret, and
 * whoever is not signed in needs them to sign in. `/console` and every address below it without a file of that name are
 * answered with the page itself. Files are read from the disk as they are sent; only the page is kept in memory.
 */
@Injectable()
export class ConsoleBundle implements OnModuleInit {
  /** Tests have their own. */
  directory = DIRECTORY;
  readonly downloads = new Downloads(MOST_DOWNLOADS);
  #bundle: Bundle | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    @Inject(HttpAdapterHost) private readonly adapter: HttpAdapterHost,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    await this.#look();
    const fastify = this.adapter.httpAdapter.getInstance<FastifyInstance>();
    for (const url of ['/console', '/console/*']) {
      fastify.route<{ Params: { '*'?: string } }>({
        method: ['GET', 'HEAD'],
        url,
        handler: (request, reply) => this.#answer(request.params['*'] ?? '', request, reply),
      });
    }
  }

  async #answer(path: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    reply.headers(HEADERS);
    const file = this.#bundle?.files.get(path);
    if (file !== undefined && path !== 'index.html') {
      reply.header('cache-control', path.startsWith('assets/') ? IMMUTABLE : 'no-cache');
      return this.#sendFile(file, request, reply);
    }
    if (path.startsWith('assets/')) {
      answerError(reply, new NotFoundException());
      return reply;
    }
    await this.#look();
    return this.#sendPage(request, reply);
  }

  #sendPage(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('cache-control', 'no-store');
    const page = this.#bundle?.files.get('index.html');
    if (page === undefined) {
      return reply
        .code(404)
        .type('text/plain; charset=utf-8')
        .send('The console is not built (libs/console/dist is missing): `npm start` builds it.\n');
    }
    const form = startAnswer(page, request, reply);
    return reply.send(request.method === 'HEAD' ? undefined : this.#bundle?.index.get(form));
  }

  async #sendFile(file: BundleFile, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (request.method === 'HEAD') {
      startAnswer(file, request, reply);
      return reply.send();
    }
    if (!this.downloads.begin(reply.raw)) {
      answerError(
        reply,
        new Refusal(503, 'too_many_downloads', 'too many files are on their way: try again in a moment', 1),
      );
      return reply;
    }
    try {
      const { path } = formFor(file.forms, request.headers['accept-encoding']);
      const handle = await open(path);
      const { size } = await handle.stat();
      startAnswer(file, request, reply);
      reply.header('content-length', String(size)).hijack();
      reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
      void this.downloads.send(handle, reply.raw);
      return reply;
    } catch (error) {
      // Another build replaced it. The page that asks for it is old, and a reload gets the new one.
      this.logger.debug({ err: error }, 'console: cannot read a file of the bundle');
      answerError(reply, new NotFoundException());
      return reply;
    }
  }

  /** A build beside a running stack (`npm test`) replaces the files: then the list is read again. */
  async #look(): Promise<void> {
    const now = performance.now();
    if (now - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#lookedAt = now;
    try {
      if ((await indexChangedAt(this.directory)) === (this.#bundle?.changedAt ?? null)) return;
      this.#bundle = await readBundle(this.directory);
    } catch (error) {
      // A build is at work. The next look finds it done.
      this.logger.warn({ err: error }, 'console: cannot read the files of the bundle; will retry');
    }
  }
}

function startAnswer(file: BundleFile, { headers }: FastifyRequest, reply: FastifyReply): FileForm {
  const form = formFor(file.forms, headers['accept-encoding']);
  reply.headers({
    'content-type': file.contentType,
    'content-length': String(form.bytes),
    vary: 'accept-encoding',
    ...(form.encoding === null ? {} : { 'content-encoding': form.encoding }),
  });
  return form;
}
