import { type Finding, fault, ok, warning } from './finding.ts';
import { SERVICES } from './local-stack.ts';

/** A replica of a service that was seen lately (`log.presence` of libs/event-log). */
export interface SeenService {
  readonly service: string;
  readonly version: string;
  readonly instance: string;
  readonly alive: boolean;
}

/** Each service needs one replica that is alive. One that vanished without saying so may have been killed. */
export function seenFindings(seen: readonly SeenService[]): Finding[] {
  const ofServices = SERVICES.flatMap((service): Finding[] => {
    const check = `service.${service}`;
    const replicas = seen.filter((one) => one.service === service);
    const alive = replicas.filter((one) => one.alive);
    const lost = replicas.filter((one) => !one.alive).map(({ instance }) => instance);
    if (alive.length === 0) {
      return [fault(check, 'no replica was seen lately', 'start it; its log says why it ended')];
    }
    return lost.length === 0
      ? [ok(check, alive.map(({ instance, version }) => `${instance} (${version})`).join(', '))]
      : [
          warning(
            check,
            `${alive.length} alive, but ${lost.join(', ')} vanished`,
            'look at the logs of those that vanished; replicas that were removed are forgotten after an hour',
          ),
        ];
  });
  const versions = [...new Set(seen.filter(({ alive }) => alive).map(({ version }) => version))].sort();
  return versions.length <= 1
    ? ofServices
    : [
        ...ofServices,
        warning(
          'services.versions',
          `replicas of several versions run side by side: ${versions.join(', ')}`,
          'finish the upgrade: restart those of the older version',
        ),
      ];
}
