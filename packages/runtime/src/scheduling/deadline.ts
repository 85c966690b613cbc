import { systemClock, type Clock } from "./clock.ts";

/** Something took longer than it may. */
export class DeadlineExceeded extends Error {
  constructor(what: string, ms: number) {
    super(`${what} took longer than ${Math.round(ms)} ms.`);
    this.name = "DeadlineExceeded";
  }
}

/**
 * Runs `work` with a signal that is aborted when `ms` have passed (DeadlineExceeded) or when the caller's
 * signal is. Returns the work's result. Own timer and listener rather than AbortSignal.any, so that a
 * long-lived caller's signal keeps nothing of it.
 */
export async function withDeadline<T>(
  { clock, ms, what, signal }: { clock: Clock; ms: number; what: string; signal?: AbortSignal | undefined },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = clock.setTimer(ms, () => controller.abort(new DeadlineExceeded(what, ms)));
  try {
    return await work(controller.signal);
  } finally {
    timer.cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}

/**
 * Returns the work's result; throws the signal's reason as soon as it is aborted, for work that may not heed
 * its signal.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/**
 * Returns the work's result; throws DeadlineExceeded after `ms`. The work itself goes on, and how it ends
 * then is not told: use it where that cannot be cancelled. One timer and no signal: requests that come by
 * thousands go through it.
 */
export function withTimeout<T>(work: Promise<T>, ms: number, what: string, clock = systemClock): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timer = clock.setTimer(ms, () => reject(new DeadlineExceeded(what, ms)));
  work.then(
    (result) => {
      timer.cancel();
      resolve(result);
    },
    (error: unknown) => {
      timer.cancel();
      reject(error);
    },
  );
  return promise;
}
