import type { Clock } from "#runtime/scheduling/clock.ts";

/**
 * The sleep of a test's clock, made of its timers: it ends when the timer fires, or throws the signal's
 * reason.
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
