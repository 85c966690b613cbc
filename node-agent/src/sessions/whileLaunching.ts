import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import { isEnding } from "./world.ts";

/**
 * Thrown to work for a launch that was cancelled meanwhile: the session's next pass sees what it needs by
 * then.
 */
export class LaunchCancelled extends Error {
  constructor() {
    super("The session is to end, or is this node's no longer: what its launch was waiting for is given up.");
    this.name = "LaunchCancelled";
  }
}

/**
 * Runs work of a launch with a signal that is aborted by LaunchCancelled as soon as the cache shows that the
 * session is to end, or does not show it any more, as when it was removed or moved to another node; by the
 * caller's signal, too. Returns the work's result.
 */
export async function whileLaunching<T>(
  {
    cache,
    session,
    signal,
  }: { cache: CacheReader<GameSession>; session: Stored<GameSession>; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const cancelling = new AbortController();
  const look = (): void => {
    const now = cache.get(keyOf(session));
    if (now?.metadata.uid !== session.metadata.uid || isFinished(now) || isEnding(now))
      cancelling.abort(new LaunchCancelled());
  };
  const unsubscribe = cache.subscribe(look);
  try {
    look(); // It may have changed while the work waited for its turn.
    const launching = AbortSignal.any([signal, cancelling.signal]);
    launching.throwIfAborted();
    return await work(launching);
  } finally {
    unsubscribe();
  }
}
