import { KeyedSessions } from '@angelia/sessions';
import { type DynamicModule, Module } from '@nestjs/common';
import type { ServiceRuntime } from '../process/runtime.ts';
import {
  BUS,
  CONFIG,
  CONFIG_RELOADS,
  DRAIN,
  ENVIRONMENT,
  EVENT_LOG,
  HEALTH,
  HOLDER,
  KEYED_SESSIONS,
  LOGGER,
  SESSIONS,
} from './tokens.ts';

/** A global module: `runService` adds it beside the service's own module, which therefore does not import it. */
@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: a dynamic module of Nest is such a class
export class ServiceKitModule {
  static forRuntime(runtime: ServiceRuntime): DynamicModule {
    const providers = [
      { provide: ENVIRONMENT, useValue: runtime.environment },
      { provide: CONFIG, useValue: runtime.config },
      { provide: CONFIG_RELOADS, useValue: runtime.reloads },
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
