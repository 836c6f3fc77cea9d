import { api, ask, type Schema } from '../client.ts';

export type System = Schema['System'];
export type Doctor = Schema['Doctor'];

export const getSystem = (): Promise<System> => ask(api.GET('/v1/system'));

/** Takes seconds. `calls`: also call targets, models and MCP servers. */
export const runDoctor = (calls: boolean): Promise<Doctor> =>
  ask(api.GET('/v1/doctor', { params: { query: { calls: calls ? 'true' : 'false' } } }));

export const reloadConfig = () => ask(api.POST('/v1/config/reload'));
