import { type CurrentConfig, type Environment, publicUrl } from '@angelia/config';
import type { EventLog } from '@angelia/event-log';
import { CONFIG, ENVIRONMENT, EVENT_LOG } from '@angelia/service-kit';
import { Controller, Inject, Post, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../access/admin-token.guard.ts';
import type { ConsoleLinkJson } from './console.operations.ts';
import { ConsoleCookie } from './console-cookie.ts';
import { digestOf } from './console-secrets.ts';
import { CONSOLE_ACTOR } from './sign-in.controller.ts';

/** Long enough to read a terminal and open a browser, also on another machine. */
const LINK_SECONDS = 600;

/** Links that sign a browser in once: `npm start` and `angelia console` print them. */
@Controller('/v1/console/links')
@UseGuards(AdminTokenGuard)
export class LinksController {
  constructor(
    @Inject(CONFIG) private readonly config: CurrentConfig,
    @Inject(ENVIRONMENT) private readonly environment: Environment,
    @Inject(EVENT_LOG) private readonly log: Pick<EventLog, 'consoleAccess'>,
    @Inject(ConsoleCookie) private readonly cookie: ConsoleCookie,
  ) {}

  @Post()
  async make(): Promise<ConsoleLinkJson> {
    const code = this.cookie.secrets.make('link');
    const expiresAt = await this.log.consoleAccess.addLink(digestOf(code), CONSOLE_ACTOR, LINK_SECONDS);
    return {
      // Behind the `#`, so that no proxy and no log sees the code.
      url: `${publicUrl(this.config.current, this.environment)}/console/sign-in#${code}`,
      expires_at: new Date(expiresAt).toISOString(),
    };
  }
}
