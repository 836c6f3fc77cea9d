import type { Bus } from '@angelia/bus';
import type { AddressVariables, Environment } from '@angelia/config';
import type { Config, HolderId } from '@angelia/contracts';
import type { EventLog } from '@angelia/event-log';
import type { Sessions } from '@angelia/sessions';
import { KeyedSessions } from '@angelia/sessions';
import { type DynamicModule, Module } from '@nestjs/common';
import type { Health } from '../health/health.ts';
import type { Logger } from '../logs/logger.ts';
import type { Drain } from '../process/drain.ts';
import {
  ADDRESS_VARIABLES,
  BUS,
  CONFIG,
  DRAIN,
  ENVIRONMENT,
  EVENT_LOG,
  HEALTH,
  HOLDER,
  KEYED_SESSIONS,
  LOGGER,
  SESSIONS,
} from './tokens.ts';

/** What every service works with. Made once per process, before Nest; see runtime.ts. */
export interface ServiceRuntime {
  readonly environment: Environment;
  readonly config: Config;
  readonly addressVariables: AddressVariables;
  readonly log: EventLog;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly holder: HolderId;
  readonly sessions: Sessions;
  readonly drain: Drain;
  readonly health: Health;
}

/** Global: `runService` adds it beside the service's own module, which therefore need not import it. */
@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: that is what a dynamic module of Nest is
export class ServiceKitModule {
  static forRuntime(runtime: ServiceRuntime): DynamicModule {
    const providers = [
      { provide: ENVIRONMENT, useValue: runtime.environment },
      { provide: CONFIG, useValue: runtime.config },
      { provide: ADDRESS_VARIABLES, useValue: runtime.addressVariables },
      { provide: EVENT_LOG, useValue: runtime.log },
      { provide: BUS, useValue: runtime.bus },
      { provide: LOGGER, useValue: runtime.logger },
      { provide: HOLDER, useValue: runtime.holder },
      { provide: SESSIONS, useValue: runtime.sessions },
      {
        provide: KEYED_SESSIONS,
        useValue: new KeyedSessions({
          log: runtime.log,
          sessions: runtime.sessions,
          instance: runtime.environment.instance,
        }),
      },
      { provide: DRAIN, useValue: runtime.drain },
      { provide: HEALTH, useValue: runtime.health },
    ];
    return { module: ServiceKitModule, global: true, providers, exports: providers };
  }
}
