import type { EventData, SessionFact } from '@angelia/contracts';
import { fact } from '../src/decision.ts';
import { iso } from '../src/time.ts';
import { turnRequested } from '../src/turns/decide-turns.ts';

/** Facts for tests. Each test names only the fields that it is about. */

export const telegram = {
  target: 'telegram',
  to: { chat_id: '1', message_thread_id: '42' },
  untrusted_address: false,
};
export const email = { target: 'email', to: { address: 'ops@example.org' }, untrusted_address: false };

export function created(data: Partial<EventData<'session.created'>> = {}): SessionFact {
  return fact('session.created', {
    route: 'alerts',
    event: 'alert',
    delivery_id: 'd-1',
    title: 'An alert',
    agent: 'default',
    toolsets: null,
    skills: [],
    deliver: telegram,
    fallback_target: null,
    interim: 'message',
    deliver_only: false,
    session_key: null,
    continues: null,
    start_after: null,
    queue_deadline: null,
    max_concurrency: null,
    ...data,
  });
}

export function turn(number: number, data: Partial<EventData<'turn.requested'>> = {}): SessionFact {
  const source = number === 1 ? 'webhook' : 'message';
  return turnRequested({
    turn: number,
    source,
    input: `input ${number}`,
    delivery_id: `d-${number}`,
    ...data,
  });
}

export function runStarted(generation: number, data: Partial<EventData<'run.started'>> = {}): SessionFact {
  return fact('run.started', {
    generation,
    turn: 1,
    runner: 'runner#1',
    resumed: false,
    attempt: 1,
    ...data,
  });
}

export function modelAsked(
  calls: readonly string[],
  data: Partial<EventData<'model.responded'>> = {},
): SessionFact {
  return fact('model.responded', {
    generation: 1,
    turn: 1,
    step: 1,
    model: 'main',
    text: '',
    tool_calls: calls.map((id) => ({
      id,
      name: id.startsWith('ask') ? 'clarify' : 'terminal',
      arguments: '{}',
    })),
    finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
    usage: { input_tokens: 10, output_tokens: 5 },
    ...data,
  });
}

export function modelSaid(text: string, data: Partial<EventData<'model.responded'>> = {}): SessionFact {
  return modelAsked([], { text, ...data });
}

export function compressed(
  throughVersion: number,
  data: Partial<EventData<'context.compressed'>> = {},
): SessionFact {
  return fact('context.compressed', {
    generation: 1,
    turn: 1,
    sequence: 1,
    through_version: throughVersion,
    summary: 'what happened so far',
    input: null,
    model: 'main',
    usage: { input_tokens: 100, output_tokens: 20 },
    ...data,
  });
}

export function toolStarted(callId: string, data: Partial<EventData<'tool.started'>> = {}): SessionFact {
  return fact('tool.started', {
    generation: 1,
    turn: 1,
    call_id: callId,
    tool: 'terminal',
    arguments: '{}',
    waits_for: null,
    ...data,
  });
}

export function toolFinished(callId: string, data: Partial<EventData<'tool.finished'>> = {}): SessionFact {
  return fact('tool.finished', {
    turn: 1,
    call_id: callId,
    tool: 'terminal',
    outcome: 'ok',
    result: `result of ${callId}`,
    watcher: null,
    ...data,
  });
}

export function interim(text: string, data: Partial<EventData<'session.interim-status'>> = {}): SessionFact {
  return fact('session.interim-status', {
    generation: 1,
    turn: 1,
    sequence: 1,
    kind: 'progress',
    text,
    ...data,
  });
}

export function answered(
  text = 'the answer',
  data: Partial<EventData<'session.final-response'>> = {},
): SessionFact {
  return fact('session.final-response', {
    generation: 1,
    turn: 1,
    text,
    outcome: 'succeeded',
    silent: false,
    ...data,
  });
}

export function ended(data: Partial<EventData<'session.ended'>> = {}): SessionFact {
  return fact('session.ended', { outcome: 'succeeded', reason: 'webhook_complete', detail: null, ...data });
}

export function interrupted(
  generation: number,
  data: Partial<EventData<'run.interrupted'>> = {},
): SessionFact {
  return fact('run.interrupted', { generation, turn: 1, reason: 'drain', silent_seconds: 0, ...data });
}

export function putOff(
  generation: number,
  retryAt: number,
  data: Partial<EventData<'run.put-off'>> = {},
): SessionFact {
  return fact('run.put-off', {
    generation,
    turn: 1,
    reason: 'unavailable',
    retry_at: iso(retryAt),
    models: [{ model: 'main', code: 'unavailable', message: 'model main: busy (HTTP 503)', called: true }],
    ...data,
  });
}

export function asked(
  deadline: number,
  data: Partial<EventData<'clarification.requested'>> = {},
): SessionFact {
  return fact('clarification.requested', {
    generation: 1,
    turn: 1,
    clarification_id: 'q-1',
    call_id: 'ask-1',
    question: 'Which one?',
    choices: [],
    deadline: iso(deadline),
    on_timeout: 'end',
    ...data,
  });
}

export function attempted(output: number, data: Partial<EventData<'delivery.attempted'>> = {}): SessionFact {
  return fact('delivery.attempted', {
    output,
    attempt: 1,
    target: 'telegram',
    via: 'target',
    sender: 'delivery#1',
    deadline_seconds: 30,
    possible_duplicate: false,
    ...data,
  });
}

export function chunkTaken(
  output: number,
  chunk: number,
  data: Partial<EventData<'delivery.chunk-taken'>> = {},
): SessionFact {
  return fact('delivery.chunk-taken', {
    output,
    attempt: 1,
    chunk,
    chunks: 3,
    receipt: null,
    deadline_seconds: 30,
    ...data,
  });
}

export function failed(
  output: number,
  retryAt: number,
  data: Partial<EventData<'delivery.failed'>> = {},
): SessionFact {
  return fact('delivery.failed', {
    output,
    attempt: 1,
    reason: '503',
    retry_at: iso(retryAt),
    counts: true,
    unknown: false,
    ...data,
  });
}

export function processStarted(
  processId: string,
  data: Partial<EventData<'process.started'>> = {},
): SessionFact {
  return fact('process.started', {
    process_id: processId,
    generation: 1,
    turn: 1,
    call_id: 'c-1',
    command: 'make all',
    host: 'host-a',
    boot_id: 'boot-1',
    pid: 4711,
    pid_start_time: '123456',
    cwd: '/work',
    notify_on_complete: true,
    watch_patterns: [],
    wait_deadline: null,
    watcher: null,
    ...data,
  });
}

export function exited(processId: string, data: Partial<EventData<'process.exited'>> = {}): SessionFact {
  return fact('process.exited', {
    process_id: processId,
    exit_code: 7,
    signal: null,
    duration_seconds: 3,
    output_tail: 'last line',
    reason: null,
    ...data,
  });
}

export function killRequested(processId: string): SessionFact {
  return fact('process.kill-requested', { process_id: processId, by: 'api' });
}
