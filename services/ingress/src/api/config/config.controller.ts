import type { Bus } from '@angelia/bus';
import { ConfigRefused, type RunningConfig, type StartupError } from '@angelia/config';
import { CONFIG_PING_SUBJECT } from '@angelia/contracts';
import { BUS, CONFIG, CONFIG_RELOADS, type RunningReloads } from '@angelia/service-kit';
import { Controller, HttpCode, Inject, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import type { RefusedConfigJson, ReloadedJson } from './config.operations.ts';

@Controller('/v1/config')
@UseGuards(AdminTokenGuard)
export class ConfigController {
  constructor(
    @Inject(CONFIG) private readonly config: RunningConfig,
    @Inject(CONFIG_RELOADS) private readonly reloads: RunningReloads,
    @Inject(BUS) private readonly bus: Pick<Bus, 'ping'>,
  ) {}

  @Post('/reload')
  @HttpCode(200)
  async reload(@Res({ passthrough: true }) reply: FastifyReply): Promise<ReloadedJson | RefusedConfigJson> {
    // The others need not wait for us: each has a file of its own, in containers even another mount.
    this.bus.ping(CONFIG_PING_SUBJECT);
    const result = await this.reloads.reload('api');
    const file = this.config.loaded.path;
    if (result.status === 'refused') {
      reply.code(422);
      return { error: refusalText(file, result.error), file, errors: problemsOf(result.error) };
    }
    const restartNeeded = result.restartNeeded.map(({ key, services }) => ({ key, services: [...services] }));
    return { status: result.status, file, restart_needed: restartNeeded };
  }
}

function refusalText(file: string, { lines }: StartupError): string {
  const more = lines.length === 1 ? '' : ` (and ${lines.length - 1} more: see \`errors\`)`;
  return `${file} is wrong, and the last good config stays in force: ${lines[0]}${more}`;
}

function problemsOf(error: StartupError): RefusedConfigJson['errors'] {
  if (error instanceof ConfigRefused) return error.problems.map((problem) => ({ ...problem }));
  return error.lines.map((message) => ({ path: '', line: null, column: null, message }));
}
