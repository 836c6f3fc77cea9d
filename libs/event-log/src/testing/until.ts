/** A slow machine must not make a test fail. */
const PATIENCE_MS = 120_000;

/** Waits for a condition, with a deadline. The last error is told when it never came true. */
export async function until<T>(condition: () => Promise<T> | T): Promise<NonNullable<T>> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    let failure: unknown;
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`not true within ${PATIENCE_MS} ms: ${condition.toString()}`, { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
