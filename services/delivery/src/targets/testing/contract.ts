import { hash } from 'node:crypto';
import { systemClock } from '@angelia/sessions';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { claimTimes, openSendWindow, readClocks } from '../../attempt/send-window.ts';
import type { OutputMessage, SendRequest, SendWindow, Target, TargetSettings } from '../target.ts';
import { longAnswer, readable } from './long-answer.ts';

/** How a platform can fail. The harness knows what each failure looks like at its platform. */
export type Trouble =
  /** The chat, issue, room or mailbox is not there. */
  | 'gone'
  | 'credential-refused'
  /** Rate limited: come again in 7 seconds. */
  | 'busy'
  | 'down'
  /** The connection is cut before anything is read. */
  | 'reset'
  /** The request is read, not taken, and not answered. */
  | 'hang'
  /** Taken, but the sender gets no answer. */
  | 'cut-off'
  /** Taken, but the answer cannot be read. */
  | 'garbled';

export interface TargetHarness {
  readonly target: Target;
  readonly settings: TargetSettings;
  readonly to: Readonly<Record<string, unknown>>;
  /** The secrets in the settings. */
  readonly credentials: readonly string[];
  /** What people see, message by message, without markup. */
  shown(): readonly string[];
  /** What happens to the next messages, one each. Left out: the target cannot fail (log). */
  next?(...troubles: Trouble[]): void;
  /** Whether a busy platform says how long to wait. */
  readonly saysHowLong: boolean;
  /** What requests did that the platform's documentation forbids. */
  problems(): readonly string[];
  stop(): Promise<void>;
}

export const BUSY_SECONDS = 7;

let version = 0;

export function outputMessage(text: string, over: Partial<OutputMessage> = {}): OutputMessage {
  version += 1;
  return {
    type: 'final-response',
    sessionId: '018f2f6e-0000-7000-8000-000000000001',
    version,
    route: 'hook',
    deliveryId: 'd-1',
    title: 'A session',
    text,
    ...over,
  };
}

const windows: SendWindow[] = [];

/** Closed after the test. */
/** For a request that gets no answer. */
const SHORT_SECONDS = 1;
/** In which the busiest machine can write a request. */
const LONG_SECONDS = 16;

export function windowOf(requestTimeoutSeconds = 5): SendWindow {
  const window = openSendWindow(readClocks(systemClock), claimTimes(requestTimeoutSeconds), systemClock);
  windows.push(window);
  return window;
}

afterEach(() => {
  for (const window of windows.splice(0)) window.close();
});

/** A request for each chunk of the message, as the core makes them. */
export function requestsFor(
  { target, settings, to }: Pick<TargetHarness, 'target' | 'settings' | 'to'>,
  message: OutputMessage,
  over: Partial<SendRequest> = {},
): SendRequest[] {
  const chunks = target.compose(message, settings);
  return chunks.map((chunk, index) => ({
    message: { ...message, possibleDuplicate: over.markDuplicate ?? false },
    chunk,
    index,
    count: chunks.length,
    markDuplicate: false,
    address: { to, untrusted: false, untrustedHost: false },
    settings,
    idempotencyKey: `${message.sessionId}.${message.version}${index === 0 ? '' : `.${index}`}`,
    secretKey: hash('sha256', `${message.sessionId}.${message.version}.${index}`).slice(0, 32),
    earlier: [],
    recordedAt: Date.now(),
    ageMs: 0,
    window: windowOf(),
    ...over,
  }));
}

function requestFor(harness: TargetHarness, text: string, over: Partial<SendRequest> = {}): SendRequest {
  const [request] = requestsFor(harness, outputMessage(text), over);
  if (request === undefined) throw new Error('a message has at least one chunk');
  return request;
}

const again = (request: SendRequest, over: Partial<SendRequest> = {}): SendRequest => ({
  ...request,
  window: windowOf(),
  ...over,
});

/** What the core expects of every target. Runs on each against a stand-in of its platform (contract.int.test.ts). */
export function describeTarget(name: string, start: () => Promise<TargetHarness>): void {
  describe(`target ${name}`, () => {
    let harness: TargetHarness;
    beforeEach(async () => {
      harness = await start();
    });
    afterEach(async () => {
      await harness.target.close();
      await harness.stop();
    });

    /** A reason is written to an event: one line that says something and holds no credential. */
    const expectFitForAnEvent = (result: unknown) => {
      const text = JSON.stringify(result);
      for (const credential of harness.credentials) expect(text).not.toContain(credential);
      const { reason } = result as { reason?: string };
      if (reason !== undefined) expect(reason).toMatch(/^\P{Cc}{5,600}$/u);
    };
    const texts = () => harness.shown().map(readable);

    it('delivers a message as its platform documents it', async () => {
      const result = await harness.target.send(requestFor(harness, 'It is *done*: ✓ שלום'));
      expect(result).toMatchObject({ kind: 'taken' });
      expectFitForAnEvent(result);
      expect(texts()).toEqual([readable('It is *done*: ✓ שלום')]);
      expect(harness.problems()).toEqual([]);
    });

    it('delivers 10,000 characters of code, emoji and right-to-left text complete and in order, however they are cut', async () => {
      const source = longAnswer();
      const requests = requestsFor(harness, outputMessage(source));
      for (const request of requests) {
        expect(await harness.target.send(again(request))).toMatchObject({ kind: 'taken' });
      }
      expect(harness.shown()).toHaveLength(requests.length);
      expect(texts().join('')).toBe(readable(source));
      if (requests.length > 1) {
        harness.shown().forEach((text, index) => {
          expect(text.trimEnd()).toMatch(new RegExp(`\\(${index + 1}/${requests.length}\\)$`));
        });
      }
      expect(harness.problems()).toEqual([]);
    });

    it('cuts the same text the same way every time', () => {
      const message = outputMessage(longAnswer());
      expect(harness.target.compose(message, harness.settings)).toEqual(
        harness.target.compose({ ...message }, { ...harness.settings }),
      );
    });

    it('delivers a text without anything visible', async () => {
      expect(await harness.target.send(requestFor(harness, ' \n\u200b'))).toMatchObject({ kind: 'taken' });
      expect(harness.problems()).toEqual([]);
    });

    it('sends nothing when the claim has run out of time', async () => {
      const frozen: SendWindow = {
        signal: new AbortController().signal,
        mayBegin: () => false,
        close: () => {},
      };
      const request = requestFor(harness, 'too late');
      expect(await harness.target.send({ ...request, window: frozen })).toMatchObject({ kind: 'retryable' });
      expect(harness.shown()).toEqual([]);
      expect(await harness.target.send(again(request))).toMatchObject({ kind: 'taken' });
    });

    it('names a destination without a credential in it', () => {
      const destination = harness.target.destination(
        { to: harness.to, untrusted: false, untrustedHost: false },
        harness.settings,
      );
      expect(destination.name).toContain(harness.target.name);
      expectFitForAnEvent(destination);
    });

    if (name === 'log') return;

    const trouble = (...troubles: Trouble[]) => harness.next?.(...troubles);

    /**
     * A request that the platform reads and does not answer. A target that waits for ever does so here, too. On a busy machine
     * the window may close before the request is written: that is `retryable`, and rightly so, and the next one gets more time.
     */
    const sendUnanswered = async (text: string) => {
      for (let seconds = SHORT_SECONDS; ; seconds *= 4) {
        trouble('hang');
        const request = requestFor(harness, text, { window: windowOf(seconds) });
        const result = await harness.target.send(request);
        if (result.kind !== 'retryable' || seconds >= LONG_SECONDS) return { request, result };
      }
    };

    it('says permanent if the address is gone, in the words of the platform', async () => {
      trouble('gone');
      const result = await harness.target.send(requestFor(harness, 'x'));
      expect(result).toMatchObject({ kind: 'permanent' });
      expectFitForAnEvent(result);
      expect(harness.shown()).toEqual([]);
    });

    it('says retryable if a credential is refused', async () => {
      trouble('credential-refused');
      const result = await harness.target.send(requestFor(harness, 'x'));
      expect(result.kind).toBe(name === 'http' ? 'permanent' : 'retryable');
      expectFitForAnEvent(result);
      expect(harness.shown()).toEqual([]);
    });

    it('reports how long a busy platform asks us to wait', async () => {
      trouble('busy');
      const result = await harness.target.send(requestFor(harness, 'x'));
      expect(result).toMatchObject({ kind: 'retryable' });
      const { retryAfterSeconds } = result as { retryAfterSeconds?: number };
      if (harness.saysHowLong) {
        expect(retryAfterSeconds).toBeGreaterThan(BUSY_SECONDS - 2);
        expect(retryAfterSeconds).toBeLessThanOrEqual(BUSY_SECONDS + 1);
      } else expect(retryAfterSeconds).toBeUndefined();
      expect(harness.shown()).toEqual([]);
    });

    it('says retryable if the platform is down', async () => {
      trouble('down');
      const request = requestFor(harness, 'up again');
      const result = await harness.target.send(request);
      expect(result).toMatchObject({ kind: 'retryable' });
      expectFitForAnEvent(result);
      expect(await harness.target.send(again(request))).toMatchObject({ kind: 'taken' });
      expect(texts()).toEqual([readable('up again')]);
    });

    it('never says that a message was taken if its connection was reset', async () => {
      trouble('reset');
      const request = requestFor(harness, 'x');
      const result = await harness.target.send(request);
      expect(['retryable', 'unknown']).toContain(result.kind);
      expectFitForAnEvent(result);
      expect(await harness.target.send(again(request))).toMatchObject({ kind: 'taken' });
      expect(harness.shown()).toHaveLength(1);
    });

    it('says unknown, in time, if a message is not answered', async () => {
      const { result } = await sendUnanswered('x');
      expect(result).toMatchObject({ kind: 'unknown' });
      expectFitForAnEvent(result);
    });

    it('says unknown if a message was taken and not answered, and the next attempt does what the platform allows', async () => {
      trouble('cut-off');
      const request = requestFor(harness, 'was it taken?');
      const result = await harness.target.send(request);
      expect(result).toMatchObject({ kind: 'unknown' });
      expectFitForAnEvent(result);
      expect(harness.shown()).toHaveLength(1);
      const { target } = harness;
      if (target.lookUp !== undefined) {
        const seen = await target.lookUp(again(request));
        expect(seen).toMatchObject({ kind: 'found' });
        expectFitForAnEvent(seen);
        expect(harness.shown()).toHaveLength(1);
      } else if (target.idempotent) {
        expect(await target.send(again(request))).toMatchObject({ kind: 'taken' });
        if (name !== 'http') expect(harness.shown()).toHaveLength(1);
      } else {
        expect(await target.send(again(request, { markDuplicate: true }))).toMatchObject({ kind: 'taken' });
        expect(harness.shown()).toHaveLength(2);
        expect(harness.shown()[1]).toContain('(possible duplicate)');
      }
      expect(harness.problems()).toEqual([]);
    });

    it('does not resend a message that was taken with an unreadable answer', async () => {
      trouble('garbled');
      const result = await harness.target.send(requestFor(harness, 'x'));
      expect(['taken', 'unknown']).toContain(result.kind);
      expectFitForAnEvent(result);
      expect(harness.shown()).toHaveLength(1);
    });

    it('says absent for a message that was not taken, and does not find another chunk instead', async () => {
      const { target } = harness;
      if (target.lookUp === undefined) return;
      expect(await target.send(requestFor(harness, 'the same text'))).toMatchObject({ kind: 'taken' });
      const { request: lost, result } = await sendUnanswered('the same text');
      expect(result).toMatchObject({ kind: 'unknown' });
      expect(await target.lookUp(again(lost))).toEqual({ kind: 'absent' });
    });

    it('edits what it sent, and says if it is gone', async () => {
      const { target } = harness;
      if (target.edit === undefined) return;
      const status = await target.send(requestFor(harness, 'working'));
      const receipt = status.kind === 'taken' ? (status.receipt ?? '') : '';
      const edited = await target.edit(requestFor(harness, 'the answer'), receipt);
      expect(edited).toMatchObject({ kind: 'taken' });
      expect(texts()).toEqual([readable('the answer')]);
      const further = edited.kind === 'taken' ? (edited.receipt ?? '') : '';
      expect(await target.edit(requestFor(harness, 'a better answer'), further)).toMatchObject({
        kind: 'taken',
      });
      expect(texts()).toEqual([readable('a better answer')]);
      trouble('gone');
      expect(await target.edit(requestFor(harness, 'x'), further)).toMatchObject({ kind: 'gone' });
      trouble('cut-off');
      expect(await target.edit(requestFor(harness, 'x'), further)).toMatchObject({ kind: 'unknown' });
      expect(harness.problems()).toEqual([]);
    });
  });
}
