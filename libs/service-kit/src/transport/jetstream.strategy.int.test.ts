import { randomUUID } from 'node:crypto';
import { type Bus, connectBus, type DeadLetter, type HintVerdict } from '@angelia/bus';
import { NatsServer } from '@angelia/bus/testing';
import type { Hint } from '@angelia/contracts';
import { setTracing, traceparentNow } from '@angelia/sessions';
import { eventually } from '@angelia/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, type INestMicroservice, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import { SpanKind, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { delay, EMPTY, map, of, throwError } from 'rxjs';
import { HandlerErrorFilter } from './handler-error.filter.ts';
import { JetStreamContext } from './jetstream.context.ts';
import { JetStreamStrategy, type JetStreamStrategyOptions } from './jetstream.strategy.ts';

type SpanProcessor = NonNullable<
  NonNullable<ConstructorParameters<typeof NodeSDK>[0]>['spanProcessors']
>[number];
type ReadableSpan = Parameters<SpanProcessor['onEnd']>[0];

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** What the controllers below do with a hint; each test sets its own. */
let onCreated: (hint: Hint, context: JetStreamContext) => unknown = () => undefined;
let onCreatedToo: (hint: Hint) => unknown = () => undefined;

@Controller()
class FirstController {
  @EventPattern<string>('session.created')
  async created(@Payload() hint: Hint, @Ctx() context: JetStreamContext): Promise<unknown> {
    return onCreated(hint, context);
  }
}

@Controller()
class SecondController {
  @EventPattern<string>('session.created')
  created(@Payload() hint: Hint): unknown {
    return onCreatedToo(hint);
  }

  @EventPattern<string>('hint.run')
  due(): HintVerdict {
    return 'done';
  }
}

@Controller()
class AskingController {
  @MessagePattern('session.created')
  answer(): string {
    return 'no';
  }
}

@Controller()
class UnknownController {
  @EventPattern<string>('session.exploded')
  on(): void {}
}

@Module({ controllers: [FirstController] })
class OneHandler {}
@Module({ controllers: [FirstController, SecondController] })
class TwoHandlers {}
@Module({ controllers: [AskingController, UnknownController] })
class WrongHandlers {}

describe('the JetStream transport', () => {
  let server: NatsServer;
  let bus: Bus;
  let app: INestMicroservice | null = null;

  beforeAll(async () => {
    server = await NatsServer.start();
  });
  afterAll(() => server.dispose());

  beforeEach(() => {
    onCreated = () => undefined;
    onCreatedToo = () => undefined;
    bus = connectBus({ url: server.url, name: 'test', replicas: 1, logger: silent });
  });
  afterEach(async () => {
    await app?.close();
    app = null;
    await bus.close();
    await server.kill();
    await server.wipe();
    await server.start();
  });

  async function serve(
    module: Type<unknown>,
    more: Partial<JetStreamStrategyOptions> = {},
  ): Promise<JetStreamStrategy> {
    const strategy = new JetStreamStrategy({ bus, service: 'test', ...more });
    const made = await NestFactory.createMicroservice(module, {
      strategy,
      logger: false,
      abortOnError: false,
    });
    made.useGlobalFilters(new HandlerErrorFilter());
    app = made;
    await made.listen();
    return strategy;
  }

  async function hint(streamId: string = randomUUID(), more: Partial<Hint> = {}): Promise<void> {
    await bus.whenReady();
    const messageId = randomUUID();
    await bus.publishHints([
      { stream_id: streamId, version: 1, type: 'session.created', messageId, ...more },
    ]);
  }

  const unsettled = (durable: string) => server.unsettled(durable);

  it('has one durable consumer per pattern, named by service and type', async () => {
    const strategy = await serve(TwoHandlers);
    expect(strategy.patterns.sort()).toEqual(['hint.run', 'session.created']);
    await eventually(async () => (await unsettled('test-session_created')) === 0);
    await eventually(async () => (await unsettled('test-hint_run')) === 0);
  });

  it('gives hint and context to the handler and acks when it returns nothing', async () => {
    const seen: unknown[] = [];
    onCreated = (hint, context) => {
      seen.push(hint, context instanceof JetStreamContext && context.durable);
    };
    await serve(OneHandler);
    await hint('one');
    await eventually(() => seen.length > 0);
    expect(seen).toEqual([{ stream_id: 'one', version: 1, type: 'session.created' }, 'test-session_created']);
    await eventually(async () => (await unsettled('test-session_created')) === 0);
  });

  it('waits for the promise before it acks', async () => {
    const gate = Promise.withResolvers<void>();
    let started = false;
    onCreated = async () => {
      started = true;
      await gate.promise;
    };
    await serve(OneHandler);
    await hint();
    await eventually(() => started);
    expect(await unsettled('test-session_created')).toBe(1);
    gate.resolve();
    await eventually(async () => (await unsettled('test-session_created')) === 0);
  });

  it('waits for the Observable to complete before it acks', async () => {
    let finished = 0;
    onCreated = () =>
      of(1).pipe(
        delay(300),
        map(() => {
          finished++;
          return finished === 1 ? { retryInMs: 1 } : 'done';
        }),
      );
    await serve(OneHandler);
    await hint();
    await eventually(() => finished === 2);
    await eventually(async () => (await unsettled('test-session_created')) === 0);
  });

  it('treats an empty Observable as done', async () => {
    let calls = 0;
    onCreated = () => {
      calls++;
      return EMPTY;
    };
    await serve(OneHandler);
    await hint();
    await eventually(() => calls > 0);
    await eventually(async () => (await unsettled('test-session_created')) === 0);
    expect(calls).toBe(1);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('postgres is away'))],
    ['returns an Observable that fails', () => throwError(() => new Error('postgres is away'))],
    ['returns something that is no verdict', () => 42],
    ['asks for it again', () => ({ retryInMs: 10 })],
  ])('redelivers the hint if the handler %s', async (_, fail) => {
    let calls = 0;
    onCreated = () => (++calls < 3 ? fail() : 'done');
    await serve(OneHandler);
    await hint();
    await eventually(() => calls === 3);
    await eventually(async () => (await unsettled('test-session_created')) === 0);
    expect(calls).toBe(3);
  });

  it('redelivers the hint even without the filter', async () => {
    let calls = 0;
    onCreated = () => {
      if (++calls < 3) throw new Error('postgres is away');
    };
    const strategy = new JetStreamStrategy({ bus, service: 'test' });
    app = await NestFactory.createMicroservice(OneHandler, { strategy, logger: false });
    await app.listen();
    await hint();
    await eventually(() => calls === 3);
  });

  it('records a dead letter with the reason if the error is not retryable', async () => {
    const letters: DeadLetter[] = [];
    onCreated = () => {
      throw Object.assign(new Error('unknown schema version 9'), { retryable: false });
    };
    await serve(OneHandler, { onDeadLetter: async (letter) => void letters.push(letter) });
    await hint('broken');
    await eventually(() => letters.length > 0);
    expect(letters[0]).toMatchObject({ reason: 'unknown schema version 9', hint: { stream_id: 'broken' } });
  });

  it('lets all handlers of a pattern finish before a failing one causes a redelivery', async () => {
    let running = 0;
    let overlapped = false;
    let finished = 0;
    let calls = 0;
    onCreated = async () => {
      if (running > 0) overlapped = true;
      running++;
      await new Promise((resolve) => setTimeout(resolve, 700));
      running--;
      finished++;
    };
    onCreatedToo = () => {
      if (++calls < 3) throw new Error('not yet');
      return 'done';
    };
    await serve(TwoHandlers);
    await hint();
    await eventually(() => calls === 3 && finished === 3);
    expect(overlapped).toBe(false);
    await eventually(async () => (await unsettled('test-session_created')) === 0);
  });

  it('refuses a message pattern and an unknown type by name at the start', async () => {
    await expect(serve(WrongHandlers)).rejects.toThrow(
      /@MessagePattern\(session\.created\): .*@EventPattern\(session\.exploded\)/,
    );
  });

  it('never runs more handlers at once than configured', async () => {
    let most = 0;
    let running = 0;
    let done = 0;
    const gate = Promise.withResolvers<void>();
    onCreated = async () => {
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
      done++;
    };
    await serve(OneHandler, { concurrency: { 'session.created': 3 } });
    await bus.whenReady();
    await bus.publishHints(
      Array.from({ length: 40 }, () => {
        const id = randomUUID();
        return { stream_id: id, version: 1, type: 'session.created', messageId: id };
      }),
    );
    await eventually(() => running === 3);
    gate.resolve();
    await eventually(() => done === 40);
    expect(most).toBe(3);
  });

  it('stops pulling and waits for the running handler', async () => {
    const gate = Promise.withResolvers<void>();
    let calls = 0;
    onCreated = async () => {
      calls++;
      await gate.promise;
    };
    const strategy = await serve(OneHandler);
    await hint();
    await eventually(() => strategy.inFlight === 1);
    let stopped = false;
    const stopping = strategy.stopPulling().then(() => {
      stopped = true;
    });
    await hint();
    await hint();
    expect(stopped).toBe(false);
    gate.resolve();
    await stopping;
    expect(calls).toBe(1);
    await eventually(async () => (await unsettled('test-session_created')) === 2);
  });

  it('listens without NATS and consumes as soon as NATS is there', async () => {
    await server.stop();
    let calls = 0;
    onCreated = () => {
      calls++;
    };
    await serve(OneHandler);
    await server.start();
    await hint();
    await eventually(() => calls === 1);
  });

  it.each([
    ['in a consumer span of the trace that the hint carries, if asked for', true],
    ['as a part of the span that the hint names, with no span of its own', false],
  ])('handles a hint %s', async (_, internals) => {
    const processor = {
      ended: [] as ReadableSpan[],
      onStart() {},
      async forceFlush() {},
      async shutdown() {},
    };
    const onEnd = (span: ReadableSpan) => void processor.ended.push(span);
    const sdk = new NodeSDK({
      spanProcessors: [{ ...processor, onEnd }],
      autoDetectResources: false,
      instrumentations: [],
    });
    sdk.start();
    setTracing(true, { internals });
    try {
      let inside: string | undefined;
      onCreated = () => {
        inside = traceparentNow();
      };
      await serve(OneHandler);
      await hint('traced', { traceparent: TRACEPARENT });
      if (!internals) {
        await eventually(() => inside === TRACEPARENT);
        expect(processor.ended).toEqual([]);
        return;
      }
      const span = await eventually(() => processor.ended.find(({ kind }) => kind === SpanKind.CONSUMER));
      expect(span.name).toBe('consume session.created');
      expect(span.attributes).toMatchObject({
        'messaging.operation.name': 'consume',
        'messaging.operation.type': 'process',
        'gen_ai.conversation.id': 'traced',
      });
      expect(span.spanContext().traceId).toBe(TRACEPARENT.split('-')[1]);
      expect(span.parentSpanContext?.spanId).toBe(TRACEPARENT.split('-')[2]);
      expect(inside).toContain(span.spanContext().spanId);
    } finally {
      setTracing(false);
      await sdk.shutdown();
      trace.disable();
    }
  });
});
