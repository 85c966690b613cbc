/** Something outside took too long to answer. */
export class TimedOut extends Error {
  override readonly name = "TimedOut";
}

/** The promise's outcome, or TimedOut after `ms`. The work itself goes on: use it where it cannot be cancelled. */
export async function withTimeout<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  const timedOut = Promise.withResolvers<never>();
  const timer = setTimeout(() => timedOut.reject(new TimedOut(`${what} took longer than ${ms} ms.`)), ms);
  try {
    return await Promise.race([promise, timedOut.promise]);
  } finally {
    clearTimeout(timer);
  }
}
