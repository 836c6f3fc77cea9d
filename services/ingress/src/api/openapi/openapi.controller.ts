import { Controller, Get, Header } from '@nestjs/common';
import { openApiDocument } from './document.ts';

/** Made once, at the first request. It contains no secret, and tools fetch it without a token. */
@Controller('/openapi.json')
export class OpenApiController {
  #document: string | null = null;

  @Get()
  @Header('content-type', 'application/json; charset=utf-8')
  show(): string {
    this.#document ??= JSON.stringify(openApiDocument());
    return this.#document;
  }
}
