import { BusUrlInvalid, type ExaminedBus, type ExaminedJetStream, examineBus } from '@angelia/bus';
import { type Finding, fault, ok, reasonOf, skipped, warning } from './finding.ts';

export interface NatsOptions {
  readonly url: string | undefined;
  readonly timeoutMs: number;
  /** As configured: `nats.replicas`. */
  readonly replicas: number;
}

export async function natsFindings({ url, timeoutMs, replicas }: NatsOptions): Promise<Finding[]> {
  if (url === undefined) return [skipped('nats', 'NATS_URL is not set, and there is no local stack here')];
  let found: ExaminedBus;
  try {
    found = await examineBus({ url, timeoutMs, replicas });
  } catch (error) {
    const todo =
      error instanceof BusUrlInvalid
        ? 'correct NATS_URL'
        : 'start nats-server, or correct NATS_URL (host, port, user, password)';
    return [fault('nats', `cannot be reached: ${reasonOf(error)}`, todo)];
  }
  return [
    found.supported
      ? ok('nats', `nats-server ${found.version}`)
      : fault('nats', `nats-server ${found.version} is too old`, `install ${found.neededVersion} or newer`),
    found.maxPayloadBytes >= found.neededPayloadBytes
      ? ok('nats.max_payload', `messages may have up to ${found.maxPayloadBytes} bytes`)
      : fault(
          'nats.max_payload',
          `messages may have only ${found.maxPayloadBytes} bytes`,
          `set max_payload in the server's config to ${found.neededPayloadBytes} or more`,
        ),
    ...(found.jetstream === null ? [withoutJetStream] : jetstreamFindings(found.jetstream, replicas)),
  ];
}

const withoutJetStream = fault(
  'nats.jetstream',
  'JetStream is off: hints are not kept, and the services do not become ready',
  'start nats-server with -js and -sd <directory>, or enable JetStream for this account',
);

/** The services with consumers: one durable per event type, named `<service>-<type>`. */
const CONSUMING = ['agent-runner', 'delivery', 'process-watcher'];
/** A minute of a busy stack. More do no harm, because the sweep replaces lost hints, but they show that nobody consumes. */
const MANY_PENDING = 10_000;
const MIB = 1024 * 1024;

function jetstreamFindings(found: ExaminedJetStream, replicas: number): Finding[] {
  return [
    ok('nats.jetstream', 'JetStream is on'),
    ...storageFindings(found),
    ...(found.stream === null ? [noStream] : streamFindings(found, found.stream, replicas)),
  ];
}

const noStream = warning(
  'nats.stream',
  'the stream of hints does not exist',
  'start the services: they create it and hint every unsettled session',
);

function storageFindings({
  storageLeftBytes,
  neededStorageBytes,
  streamsLeft,
  stream,
}: ExaminedJetStream): Finding[] {
  // An existing stream has already reserved its storage.
  const missing = stream === null && storageLeftBytes !== null && storageLeftBytes < neededStorageBytes;
  const needed = `${neededStorageBytes / MIB} MiB`;
  return [
    missing
      ? fault(
          'nats.storage',
          `only ${Math.floor(storageLeftBytes / MIB)} MiB of file storage left; the stream reserves ${needed}`,
          "raise the account's max_storage (or max_file_store of the server), or delete unused streams",
        )
      : ok(
          'nats.storage',
          storageLeftBytes === null
            ? `the account has no limit (the stream reserves ${needed}; NATS does not report the server's max_file_store)`
            : `${Math.floor(storageLeftBytes / MIB)} MiB of file storage left`,
        ),
    ...(stream === null && streamsLeft === 0
      ? [
          fault(
            'nats.streams',
            'the account may not create another stream',
            "raise the account's max_streams",
          ),
        ]
      : []),
  ];
}

function streamFindings(
  { consumers }: ExaminedJetStream,
  stream: NonNullable<ExaminedJetStream['stream']>,
  replicas: number,
): Finding[] {
  const absent = CONSUMING.filter(
    (service) => !consumers.some(({ durable }) => durable.startsWith(`${service}-`)),
  );
  const pending = consumers.reduce((sum, consumer) => sum + consumer.pending, 0);
  return [
    stream.replicas === replicas && stream.lagging.length === 0
      ? ok(
          'nats.stream',
          `${stream.messages} hints, ${stream.replicas} replica${stream.replicas === 1 ? '' : 's'}`,
        )
      : warning(
          'nats.stream',
          stream.replicas === replicas
            ? `these servers of the stream are offline or lag behind: ${stream.lagging.join(', ')}`
            : `the stream has ${stream.replicas} replicas, but nats.replicas is ${replicas}`,
          stream.replicas === replicas
            ? 'bring those servers back: without a majority hints stop'
            : 'restart a service: it updates the stream, or logs why it cannot',
        ),
    absent.length === 0
      ? ok('nats.consumers', `${consumers.length} consumers of ${CONSUMING.join(', ')}`)
      : warning(
          'nats.consumers',
          `no consumer of ${absent.join(', ')}`,
          `start ${absent.join(', ')}: each creates its own`,
        ),
    pending <= MANY_PENDING
      ? ok('nats.pending', `${pending} hints are waiting`)
      : warning(
          'nats.pending',
          `${pending} hints are waiting`,
          'run more of the service whose consumer is behind (ANGELIA_REPLICAS)',
        ),
  ];
}
