/** Tokens of what the kit provides to a service's controllers and providers: `@Inject(SESSIONS) sessions: Sessions`. */
/** LiveConfig: the config in force, and what the service made of it. */
export const CONFIG = Symbol('CONFIG');
/** ConfigReloads: takes a changed config. */
export const CONFIG_RELOADS = Symbol('CONFIG_RELOADS');
export const ENVIRONMENT = Symbol('ENVIRONMENT');
export const EVENT_LOG = Symbol('EVENT_LOG');
export const BUS = Symbol('BUS');
export const LOGGER = Symbol('LOGGER');
/** The HolderId of this process, which its leases and its events carry. */
export const HOLDER = Symbol('HOLDER');
export const SESSIONS = Symbol('SESSIONS');
/** KeyedSessions: sessions that are found by a key instead of an id. */
export const KEYED_SESSIONS = Symbol('KEYED_SESSIONS');
/** Drain: whatever has work in flight adds itself here. */
export const DRAIN = Symbol('DRAIN');
/** Health: a service adds its own readiness checks here. */
export const HEALTH = Symbol('HEALTH');
