import { LaunchError } from '../launch-error.ts';

export const SERVICES = ['ingress', 'agent-runner', 'delivery', 'process-watcher'] as const;
export type ServiceName = (typeof SERVICES)[number];
export type Replicas = Readonly<Record<ServiceName, number>>;

/** More replicas of one service on one machine are a typing error. */
const MOST = 32;

/** Parses `agent-runner=2,delivery=2`. A service that is not named runs once. */
export function parseReplicas(text: string | undefined): Replicas {
  const replicas: Record<ServiceName, number> = {
    ingress: 1,
    'agent-runner': 1,
    delivery: 1,
    'process-watcher': 1,
  };
  for (const part of (text ?? '').split(',').map((piece) => piece.trim())) {
    if (part === '') continue;
    const [name, count] = part.split('=').map((piece) => piece.trim());
    const service = SERVICES.find((one) => one === name);
    const number = Number(count);
    if (service === undefined || !Number.isInteger(number) || number < 1 || number > MOST) {
      throw new LaunchError(
        'BAD_ENVIRONMENT',
        `ANGELIA_REPLICAS has "${part}": write <service>=<1 to ${MOST}>, with a service of ${SERVICES.join(', ')}`,
      );
    }
    replicas[service] = number;
  }
  return replicas;
}

/** The first instance has the service's name, the others also a number. It names the pid file, the log and ANGELIA_INSTANCE. */
export function instancesOf(replicas: Replicas): { service: ServiceName; instance: string; nth: number }[] {
  return SERVICES.flatMap((service) =>
    Array.from({ length: replicas[service] }, (_, index) => ({
      service,
      nth: index + 1,
      instance: index === 0 ? service : `${service}-${index + 1}`,
    })),
  );
}
