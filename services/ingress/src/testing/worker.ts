import { connectBus } from '@angelia/bus';
import { holderId, sessionId } from '@angelia/contracts';
import { openEventLog } from '@angelia/event-log';
import { PATIENT } from '@angelia/event-log/testing';
import { announceCommits, createLogger } from '@angelia/service-kit';
import { decide, type SessionCommand, type SessionState } from '@angelia/session';
import { type Loaded, Sessions } from '@angelia/sessions';

/** Acts on sessions as runner, delivery and process-watcher do, with the same decisions, through its own log and bus. */
export interface Worker {
  does(id: string, command: (state: SessionState) => SessionCommand): Promise<Loaded>;
  startsRun(id: string): Promise<void>;
  /** A run that answers. */
  answers(id: string, text: string): Promise<Loaded>;
  /** A run whose model asks for a tool. */
  asksFor(id: string, tool: string, callId: string): Promise<void>;
  /** A run that asks the user. */
  asks(id: string, question: string): Promise<void>;
  /** Sends the next output, which is delivered or given up. */
  delivers(id: string, how?: 'delivered' | 'dead'): Promise<void>;
  /** A run that starts a background process. */
  startsProcess(id: string, processId: string): Promise<void>;
  close(): Promise<void>;
}

export function openWorker(options: { readonly databaseUrl: string; readonly natsUrl?: string }): Worker {
  const logger = createLogger({
    service: 'agent-runner',
    instance: 'worker',
    level: 'error',
    destination: { write: () => {} },
  });
  const bus =
    options.natsUrl === undefined
      ? null
      : connectBus({ url: options.natsUrl, name: 'worker', replicas: 1, logger });
  const log = openEventLog({
    url: options.databaseUrl,
    instance: 'worker',
    holder: holderId('worker', 'test'),
    timeouts: PATIENT,
    ...(bus === null ? {} : { onCommitted: announceCommits(bus) }),
  });
  const sessions = new Sessions({ log, instance: 'worker' });

  const does: Worker['does'] = async (id, command) => {
    const executed = await sessions.execute(sessionId(id), ({ state }) => decide(state, command(state)));
    if (executed.status !== 'appended') throw new Error(`${executed.status}: ${JSON.stringify(executed)}`);
    return executed.loaded;
  };
  const startsRun: Worker['startsRun'] = async (id) => {
    await does(id, (state) => ({
      type: 'start-run',
      generation: state.generation + 1,
      turn: state.turns[0]?.turn ?? 0,
      runner: 'worker',
      resumed: false,
      attempt: 1,
      takeover: false,
    }));
  };
  const asksFor = async (id: string, tool: string, callId: string): Promise<void> => {
    await startsRun(id);
    await does(id, (state) => ({
      type: 'record-model-response',
      generation: state.generation,
      step: (state.turns[0]?.step ?? 0) + 1,
      model: 'main',
      text: '',
      toolCalls: [{ id: callId, name: tool, arguments: '{}' }],
      finishReason: 'tool-calls',
      usage: { input_tokens: 1, output_tokens: 1 },
    }));
  };
  return {
    does,
    startsRun,
    asksFor,
    answers: async (id, text) => {
      await startsRun(id);
      return does(id, (state) => ({ type: 'finish-turn', generation: state.generation, text }));
    },
    asks: async (id, question) => {
      await asksFor(id, 'clarify', 'call-1');
      await does(id, (state) => ({
        type: 'request-clarification',
        generation: state.generation,
        clarificationId: 'question-1',
        callId: 'call-1',
        question,
        deadline: Date.now() + 3_600_000,
        onTimeout: 'end',
      }));
    },
    delivers: async (id, how = 'delivered') => {
      const { state } = await does(id, (now) => ({
        type: 'attempt-delivery',
        output: now.outputs[0]?.output ?? 0,
        attempt: (now.outputs[0]?.attempts ?? 0) + 1,
        sender: 'worker',
        deadlineSeconds: 60,
        now: Date.now(),
      }));
      const sent = state.outputs[0];
      if (sent === undefined) throw new Error('nothing to deliver');
      const { output, attempts: attempt, via } = sent;
      await does(id, () =>
        how === 'delivered'
          ? { type: 'succeed-delivery', output, attempt, receipt: 'r-1' }
          : { type: 'give-up-delivery', output, attempt, via, reason: 'gone for good' },
      );
    },
    startsProcess: async (id, processId) => {
      await asksFor(id, 'terminal', 'call-1');
      await does(id, (state) => ({
        type: 'start-tool',
        generation: state.generation,
        callId: 'call-1',
        tool: 'terminal',
        arguments: '{}',
      }));
      await does(id, () => ({
        type: 'process-started',
        processId,
        callId: 'call-1',
        command: 'sleep 600',
        host: 'host-1',
        bootId: 'boot-1',
        pid: 4242,
        pidStartTime: '1',
        cwd: '/tmp',
        notifyOnComplete: true,
      }));
    },
    close: async () => {
      await bus?.close();
      await log.close();
    },
  };
}
