/**
 * Returns a signal that aborts as soon as one of these does. Like `AbortSignal.any`, also for Firefox before
 * 124 and Safari before 17.4.
 */
export function joinSignals(...signals: readonly AbortSignal[]): AbortSignal {
  if ("any" in AbortSignal) return AbortSignal.any([...signals]);
  const first = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) first.abort(signal.reason);
    else
      signal.addEventListener("abort", () => first.abort(signal.reason), {
        once: true,
        signal: first.signal,
      });
  }
  return first.signal;
}

/**
 * Returns the URL of an address, which may be relative to `base`; undefined if it is invalid. Like
 * `URL.parse`, also for Firefox before 126 and Safari before 18.
 */
export function parseUrl(address: string, base?: string): URL | undefined {
  try {
    return new URL(address, base);
  } catch {
    return undefined;
  }
}

/**
 * Returns the result of `use` with a storage of the browser; undefined if there is none, for which `storage`
 * throws or returns null, or if it refuses, such as when it is full.
 */
export function accessStorage<Items, Result>(
  storage: () => Items | null,
  use: (items: Items) => Result,
): Result | undefined {
  try {
    const items = storage();
    return items === null ? undefined : use(items);
  } catch {
    return undefined;
  }
}

/** Returns a new random id of 32 hex digits. Pages served over plain HTTP have no crypto.randomUUID. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
