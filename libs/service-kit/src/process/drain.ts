/** Something with work in flight that a shutdown lets finish, or hand over. */
export interface DrainParticipant {
  /** For the log line if it does not finish in time. */
  readonly name: string;
  /**
   * Called once no hint and no request comes in any more. Resolve when nothing is in flight. Shortly after `deadline`
   * (milliseconds, Date.now()) the connections are closed, whether it has resolved or not. A second signal aborts `hurry`:
   * hand over now, because the connections are closed in two seconds.
   */
  drain(deadline: number, hurry: AbortSignal): Promise<void>;
}

/** The participants of a shutdown; provided as DRAIN. Nest has no multi-providers, so each adds itself when it is made. */
export class Drain {
  readonly #participants: DrainParticipant[] = [];
  #draining = false;

  /** True after the signal: take no new work. */
  get draining(): boolean {
    return this.#draining;
  }

  get participants(): readonly DrainParticipant[] {
    return this.#participants;
  }

  add(participant: DrainParticipant): void {
    this.#participants.push(participant);
  }

  begin(): void {
    this.#draining = true;
  }
}
