/** What the kit provides to a service's controllers and providers: `@Inject(SESSIONS) sessions: Sessions`. */
export const CONFIG = Symbol('CONFIG');
export const ENVIRONMENT = Symbol('ENVIRONMENT');
export const EVENT_LOG = Symbol('EVENT_LOG');
export const BUS = Symbol('BUS');
export const LOGGER = Symbol('LOGGER');
/** HolderId of this process: in its leases, and the actor of its events. */
export const HOLDER = Symbol('HOLDER');
export const SESSIONS = Symbol('SESSIONS');
/** KeyedSessions: sessions that are found by a key instead of their id. */
export const KEYED_SESSIONS = Symbol('KEYED_SESSIONS');
/** Drain: what has work under way adds itself here. */
export const DRAIN = Symbol('DRAIN');
/** Health: further readiness checks of a service. */
export const HEALTH = Symbol('HEALTH');
/** AddressVariables: what a reference in a captured address comes to. */
export const ADDRESS_VARIABLES = Symbol('ADDRESS_VARIABLES');
