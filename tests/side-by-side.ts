import { it } from '@jest/globals';

/** Waits until this moment of the story is over. */
export type Until<Moment extends string> = (moment: Moment) => Promise<void>;
/** Waits until no scenario has anything left to do before this moment, then runs it. */
export type Then<Moment extends string> = (moment: Moment, act?: () => Promise<void>) => Promise<void>;

interface Scenario {
  readonly begin: () => void;
  /** The moment that it waits for, and how to continue it; null while it runs. */
  waiting: { readonly moment: string; go(): void; fail(error: unknown): void } | null;
  over: boolean;
}

/**
 * Scenarios that run at the same time on one stack. They share waiting times and what happens to the stack: the story, a list
 * of moments (`the runners are killed`, `all is back`). A moment comes when every scenario has ended or waits for it or for a
 * later one. So a scenario reads as if it were alone:
 *
 *   together.it('C9 ...', async (until) => {
 *     await post(...);
 *     await until('the runners are killed');
 *     ...
 *
 * Jest reports each as its own test. The bodies start in `begin`, not when Jest reaches the test.
 */
export function sideBySide<Moment extends string = never>(timeoutMs: number) {
  const scenarios: Scenario[] = [];
  let told = Promise.withResolvers<void>();
  let story: Promise<void> = Promise.resolve();

  const tell = () => {
    told.resolve();
    told = Promise.withResolvers<void>();
  };

  const then: Then<Moment> = async (moment, act) => {
    while (!scenarios.every(({ over, waiting }) => over || waiting)) await told.promise;
    await act?.();
    for (const { waiting } of scenarios) if (waiting?.moment === moment) waiting.go();
  };

  return {
    it(name: string, body: (until: Until<Moment>) => Promise<void>): void {
      const end = Promise.withResolvers<void>();
      end.promise.catch(() => {}); // It may fail before Jest reaches this test.
      const until: Until<Moment> = async (moment) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        const goingOn = <T>(how: (value: T) => void) => {
          return (value: T) => {
            scenario.waiting = null; // now, so that the next moment waits for it again
            how(value);
          };
        };
        scenario.waiting = { moment, go: goingOn(resolve), fail: goingOn(reject) };
        tell();
        await promise;
      };
      const scenario: Scenario = {
        waiting: null,
        over: false,
        begin: () => {
          body(until)
            .then(end.resolve, end.reject)
            .finally(() => {
              scenario.over = true;
              tell();
            });
        },
      };
      scenarios.push(scenario);
      it(name, () => end.promise, timeoutMs);
    },

    /** For `beforeAll`: starts all scenarios and the story. */
    begin(tellStory: (then: Then<Moment>) => Promise<void> = async () => {}): void {
      for (const { begin } of scenarios) begin();
      story = tellStory(then).then(
        () => leaveNobodyWaiting((moment) => new Error(`the story is over before "${moment}"`)),
        (error) => leaveNobodyWaiting(() => error),
      );
    },

    /** For `afterAll`: waits until no scenario needs the stack. */
    async over(): Promise<void> {
      await story;
    },
  };

  /** After the story, a scenario that still waits for a moment fails. */
  async function leaveNobodyWaiting(reason: (moment: string) => unknown): Promise<void> {
    while (!scenarios.every(({ over }) => over)) {
      for (const { waiting } of scenarios) waiting?.fail(reason(waiting.moment));
      await told.promise;
    }
  }
}
