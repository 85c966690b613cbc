/**
 * Returns a signal that aborts as soon as one of these does: `AbortSignal.any`, also for Firefox before 124
 * and Safari before 17.4.
 */
export function anySignal(...signals: readonly AbortSignal[]): AbortSignal {
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
