import { type Environment, type RunningConfig, shownConfig, withEnvFile } from '@angelia/config';
import { type HolderId, instanceOf } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import {
  CONFIG,
  CONFIG_RELOADS,
  ENVIRONMENT,
  EVENT_LOG,
  type RunningReloads,
  VERSION,
} from '@angelia/service-kit';
import { Controller, Get, Inject, Query, UseGuards } from '@nestjs/common';
import { AdminTokenGuard } from '../../access/admin-token.guard.ts';
import { parseQuery } from '../../http/parse-request.ts';
import { SharedAnswer } from '../../http/shared-answer.ts';
import { type DoctorJson, doctorQuery, type SystemJson } from './system.operations.ts';

/** A replica that was removed without a word is of no interest after this. */
const SEEN_WITHIN_SECONDS = 3_600;
/** A person presses the button again when something was repaired. */
const DOCTOR_KEPT_MS = 10_000;

@Controller('/v1')
@UseGuards(AdminTokenGuard)
export class SystemController {
  readonly #system = new SharedAnswer(() => this.#read());
  readonly #doctor = new SharedAnswer(() => this.#examine(false), DOCTOR_KEPT_MS);
  readonly #doctorWithCalls = new SharedAnswer(() => this.#examine(true), DOCTOR_KEPT_MS);

  constructor(
    @Inject(EVENT_LOG) private readonly log: EventLog,
    @Inject(CONFIG) private readonly config: RunningConfig,
    @Inject(CONFIG_RELOADS) private readonly reloads: RunningReloads,
    @Inject(ENVIRONMENT) private readonly environment: Environment,
  ) {}

  @Get('/system')
  system(): Promise<SystemJson> {
    return this.#system.get();
  }

  @Get('/doctor')
  doctor(@Query() query: unknown): Promise<DoctorJson> {
    const { calls } = parseQuery(doctorQuery, query);
    return (calls ? this.#doctorWithCalls : this.#doctor).get();
  }

  async #read(): Promise<SystemJson> {
    const { log } = this;
    // One after the other: the page is not worth more than one connection.
    const installation = await log.status.installation();
    const health = await log.status.health();
    const seen = await log.presence.seen(SEEN_WITHIN_SECONDS);
    const models = await log.overview.awaitedModels();
    const targets = await log.overview.failingTargets();
    const leaders = installation.leaders.map(({ name, holder }) => ({
      name,
      instance: instanceOf(holder as HolderId),
    }));
    return {
      at: new Date(await log.now()).toISOString(),
      version: VERSION,
      services: seen.map(({ service, instance, version, seenAt, alive }) => ({
        service,
        instance,
        version,
        status: alive ? 'alive' : 'lost',
        seen_at: new Date(seenAt).toISOString(),
        leads: leaders.filter((leader) => leader.instance === instance).map(({ name }) => name),
      })),
      leaders,
      lag: {
        tail_ms: health.tailLagMs,
        relay_ms: health.relayLagMs,
        views_ms: health.projectionLagMs,
      },
      migrations: { applied: installation.migration, needed: installation.neededMigration },
      views: { version: installation.viewsVersion, needed: installation.neededViewsVersion },
      config: this.#configJson(),
      models_down: models.map((model) => ({
        ...model,
        list: '/v1/sessions?status=waiting&waiting_for=model',
      })),
      targets_down: targets.map(({ target, deliveries, exact, reason, nextAttemptAt }) => ({
        target,
        deliveries,
        exact,
        reason,
        next_attempt_at: nextAttemptAt === null ? null : new Date(nextAttemptAt).toISOString(),
        list: `/v1/deliveries?status=pending&target=${encodeURIComponent(target)}`,
      })),
      jaeger_url: this.config.current.jaeger_url?.replace(/\/+$/, '') ?? null,
    };
  }

  #configJson(): SystemJson['config'] {
    const {
      in_force: inForce,
      problems,
      restart_needed: restartNeeded,
    } = this.reloads.readiness() as {
      readonly in_force?: 'file' | 'last_good';
      readonly problems?: readonly string[];
      readonly restart_needed?: readonly string[];
    };
    return {
      file: this.config.loaded.path,
      in_force: inForce ?? 'file',
      problems: [...(problems ?? [])],
      restart_needed: [...(restartNeeded ?? [])],
      values: shownConfig(this.config.current) as SystemJson['config']['values'],
    };
  }

  async #examine(calls: boolean): Promise<DoctorJson> {
    // Loaded when somebody asks: it brings parsers and a mail client.
    const { examine, isHealthy } = await import('@angelia/doctor');
    const env = withEnvFile(process.env);
    const findings = await examine({
      env: {
        ...env,
        DATABASE_URL: this.environment.databaseUrl,
        NATS_URL: this.environment.natsUrl,
        ANGELIA_MASTER_KEY: this.environment.masterKey,
      },
      local: {
        dataDirectory: env.ANGELIA_DATA || './.angelia',
        programs: null,
        keptIngressPort: undefined,
        environment: {},
      },
      seen: await this.log.presence.seen(SEEN_WITHIN_SECONDS),
      calls,
    });
    return {
      checked_at: new Date().toISOString(),
      healthy: isHealthy(findings),
      findings: findings.map((finding) => ({ ...finding })),
    };
  }
}
