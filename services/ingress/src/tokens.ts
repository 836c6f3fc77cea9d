/** RouteTable of the config's routes. */
export const ROUTES = Symbol('ROUTES');
