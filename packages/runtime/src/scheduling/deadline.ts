import { systemClock, type Clock } from "./clock.ts";

/** An operation exceeded its deadline. */
export class DeadlineExceeded extends Error {
  constructor(what: string, ms: number) {
    super(`${what} took longer than ${Math.round(ms)} ms.`);
    this.name = "DeadlineExceeded";
  }
}

/**
 * Runs `work` with a signal that is aborted after `ms` (DeadlineExceeded) or with the caller's signal, and
 * returns its result. Uses its own timer and listener instead of AbortSignal.any, so that a long-lived signal
 * of the caller does not keep references.
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
 * Returns the result of work that may ignore its signal; throws the signal's reason as soon as it is aborted.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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
 * Returns the result of work that cannot be cancelled; throws DeadlineExceeded after `ms`. The work
 * continues, and its result is discarded. Uses one timer and no signal, because thousands of requests pass
 * through it.
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
