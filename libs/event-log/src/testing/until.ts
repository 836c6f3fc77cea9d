/** Waits for a condition, with a deadline. The last error is told when it never came true. */
export async function until<T>(condition: () => Promise<T> | T, withinMs = 15_000): Promise<NonNullable<T>> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    let failure: unknown;
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`not true within ${withinMs} ms: ${condition.toString()}`, { cause: failure });
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
