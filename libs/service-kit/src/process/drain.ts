/** Something with work under way that a shutdown should let finish, or hand over in good order. */
export interface DrainParticipant {
  /** For the log line when it does not finish in time. */
  readonly name: string;
  /**
   * Called once no hint and no request comes in any more. Resolve when nothing is under way. Shortly after `deadline`
   * (milliseconds, Date.now()) the connections are closed whether it has resolved or not. `hurry` is aborted by a
   * second signal: hand over now, in two seconds the connections are closed.
   */
  drain(deadline: number, hurry: AbortSignal): Promise<void>;
}

/** Who takes part in the shutdown; provided as DRAIN. Nest has no multi-providers, so one adds itself when made. */
export class Drain {
  readonly #participants: DrainParticipant[] = [];
  #draining = false;

  /** True from the signal on: take no new work. */
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
