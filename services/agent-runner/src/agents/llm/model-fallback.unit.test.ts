import { sessionId } from '@angelia/contracts';
import { createLogger } from '@angelia/service-kit';
import { describe, expect, it } from '@jest/globals';
import { echoModel } from '../../models/echo.ts';
import { type Model, ModelFailure, type ModelFailureCode } from '../../models/model.ts';
import { ModelCircuits } from '../../outages/model-circuits.ts';
import { ConversationTooLong, FallbackModels, ModelsFailed } from './model-fallback.ts';

const logger = createLogger({ service: 'agent-runner', instance: 'test', level: 'silent' });
const request = { system: '', messages: [{ role: 'user' as const, content: 'hello' }], tools: [] };
const canShorten = { canShorten: true };

/** Models that fail with these codes before they answer. Notes which model is asked. */
function world(
  failures: Record<string, ModelFailureCode[]>,
  fallback = ['second', 'third'],
  { circuits = new ModelCircuits({ schedules: [[5]], logger, onBack: () => {} }), maxSeconds = 60 } = {},
) {
  const asked: string[] = [];
  const told: string[] = [];
  const model = (name: string): Model => ({
    ...echoModel(name),
    call: async () => {
      asked.push(name);
      const code = failures[name]?.shift();
      if (code !== undefined) throw new ModelFailure(code, `${name}: ${code}`, { retryable: false });
      return {
        text: name,
        toolCalls: [],
        finishReason: 'stop',
        usage: { input_tokens: 1, output_tokens: 1 },
      };
    },
  });
  const stop = new AbortController();
  const models = new FallbackModels(
    {
      model: 'first',
      fallback_models: fallback,
      retry: { schedule_seconds: [5], max_seconds: maxSeconds },
    },
    {
      models: new Map(['first', 'second', 'third'].map((name) => [name, model(name)])),
      assertHeld: () => {
        stop.signal.throwIfAborted();
        return stop.signal;
      },
      logger,
      sessionId: sessionId('s'),
      circuits,
      onFallback: async (name) => {
        told.push(name);
      },
    },
  );
  return { models, asked, told, stop };
}

describe('the models of a run', () => {
  it('are asked in order, and the user is told before each fallback', async () => {
    const { models, asked, told } = world({ first: ['refused'], second: ['refused'] });
    expect(await models.ask(request, canShorten)).toMatchObject({ model: 'third', reply: { text: 'third' } });
    expect(asked).toEqual(['first', 'second', 'third']);
    expect(told).toEqual(['second', 'third']);
  });

  it('stay with the fallback: a further step does not try the failed one, nor tell the user again', async () => {
    const { models, asked, told } = world({ first: ['refused'] });
    await models.ask(request, canShorten);
    await models.ask(request, canShorten);
    expect(asked).toEqual(['first', 'second', 'second']);
    expect(told).toEqual(['second']);
    expect(models.current?.name).toBe('second');
  });

  it('fail when all of them have failed, with the reason of each', async () => {
    const { models } = world({ first: ['refused'], second: ['protocol'] }, ['second', 'gone']);
    await expect(models.ask(request, canShorten)).rejects.toThrow(
      new ModelsFailed('first: refused; second: protocol; model gone is not in the config any more', []),
    );
  });

  it('are not left because a request is too long, if it can be shortened', async () => {
    const { models, asked, told } = world({ first: ['too_long', 'too_long'] });
    await expect(models.ask(request, canShorten)).rejects.toBeInstanceOf(ConversationTooLong);
    expect(told).toEqual([]);
    expect(await models.ask(request, { canShorten: false })).toMatchObject({ model: 'second' });
    expect(asked).toEqual(['first', 'first', 'second']);
  });

  it('are not asked by a run that was stopped while one of them failed', async () => {
    const { models, asked, told, stop } = world({ first: ['refused'] });
    const call = models.ask(request, canShorten);
    stop.abort('drain');
    await expect(call).rejects.toBe('drain');
    expect(asked).toEqual(['first']);
    expect(told).toEqual([]);
  });

  describe('that are known to be down', () => {
    const downAt = async (...names: string[]) => {
      const circuits = new ModelCircuits({ schedules: [[60]], logger, onBack: () => {} });
      for (const name of names) {
        const failed = new ModelFailure('unauthorized', `${name}: no`, { retryable: false });
        await circuits
          .call(name, sessionId('other'), (tryOnce) => tryOnce(() => Promise.reject(failed)))
          .catch(() => {});
      }
      return circuits;
    };

    it('are not asked: the next one is, and the user is told', async () => {
      const { models, asked, told } = world({}, ['second', 'third'], {
        circuits: await downAt('first', 'second'),
      });
      expect(await models.ask(request, canShorten)).toMatchObject({ model: 'third' });
      expect([asked, told]).toEqual([['third'], ['third']]);
    });

    it('are named if all of them are, and nobody is asked or told', async () => {
      const { models, asked, told } = world({}, ['second'], { circuits: await downAt('first', 'second') });
      const failed = await models.ask(request, canShorten).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(ModelsFailed);
      expect((failed as ModelsFailed).models).toMatchObject([
        { model: 'first', reason: 'configuration', code: 'unauthorized', called: false },
        { model: 'second', called: false },
      ]);
      expect([asked, told]).toEqual([[], []]);
    });

    it('are asked by an agent that does not wait', async () => {
      const { models, asked } = world({}, [], { circuits: await downAt('first'), maxSeconds: 0 });
      expect(await models.ask(request, canShorten)).toMatchObject({ model: 'first' });
      expect(asked).toEqual(['first']);
    });
  });
});
