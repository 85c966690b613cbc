import type { Clock } from "#runtime/scheduling/clock.ts";

/**
 * Sleeps with a test clock's timers: resolves when the timer fires.
 *
 * @throws The signal's reason if it is aborted.
 */
export async function timerSleep(
  clock: Pick<Clock, "setTimer">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = clock.setTimer(ms, () => resolve(undefined));
  const onAbort = (): void => {
    timer.cancel();
    reject(signal?.reason);
  };
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    await promise;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}
