import type { Bus } from '@angelia/bus';
import type { EventLog } from '@angelia/event-log';
import { BUS, EVENT_LOG, KEYED_SESSIONS, LOGGER, type Logger, SESSIONS } from '@angelia/service-kit';
import type { KeyedSessions, Sessions } from '@angelia/sessions';
import { Inject, Injectable } from '@nestjs/common';
import { Pairings } from '../pairing/pairings.ts';
import { InOrder } from './in-order.ts';
import type { TakeContext } from './take-context.ts';
import { ToldStrangers } from './told-strangers.ts';

/** The one context of the process in which updates are taken, by webhook or by connection. */
@Injectable()
export class ChatTaking implements TakeContext {
  readonly pairings: Pairings;
  readonly told = new ToldStrangers();
  readonly inOrder = new InOrder();

  constructor(
    @Inject(SESSIONS) readonly sessions: Sessions,
    @Inject(KEYED_SESSIONS) readonly keyed: KeyedSessions,
    @Inject(EVENT_LOG) readonly log: EventLog,
    @Inject(BUS) readonly bus: Pick<Bus, 'ping'>,
    @Inject(LOGGER) readonly logger: Logger,
  ) {
    this.pairings = new Pairings(log);
  }
}
