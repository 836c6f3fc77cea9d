/**
 * A placeholder of a template: `{pull_request.title}`, `{event-data.id}`, `{headers.x-request-id}`. ingress fills it in; the
 * checks of the config look through it. Both must see the same ones: else a host that comes from a payload would count as
 * one that the operator wrote.
 */
export const PLACEHOLDER = /\{([a-zA-Z0-9_.-]+)\}/;
