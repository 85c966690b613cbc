import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import { isTerminal, type Pod } from "#kube/api/builtin.ts";
import { PassInterrupted } from "#kube/controllers/reconciler.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Spool } from "../spool/readSpool.ts";
import type { SessionRecord } from "./record.ts";

/** The observed state of one session in a pass. */
export interface SessionWorld {
  /** Undefined if it is gone from the cluster or was placed on another node. */
  session: Stored<GameSession> | undefined;
  pod: Stored<Pod> | undefined;
  /** The node's record of the session. */
  record: SessionRecord | undefined;
  /** Whether the packer has its restore order, with or without a save. */
  isOrdered: boolean;
  /** The packer's output. */
  spool: Spool;
  /** Set if the packer's output cannot be read. */
  unreadable?: Error;
}

/** Returns whether the session is stopping or being deleted. */
export function isEnding({ spec, status, metadata }: GameSession): boolean {
  return (
    spec.desiredState === "Stopped" ||
    metadata.deletionTimestamp !== undefined ||
    status?.stoppingAt !== undefined
  );
}

/** Returns whether the game, or the packer after the game's end, can still change the save. */
export function mayStillPack(pod: Pod): boolean {
  if (isTerminal(pod)) return false;
  // A pod that was never bound to a node has no kubelet that could start it.
  if (pod.spec?.nodeName === undefined) return false;
  if (
    pod.status?.initContainerStatuses?.find(({ name }) => name === containerNames.streamer)?.state
      ?.terminated === undefined
  )
    return true;
  // A streamer that failed while its game continues is restarted together with its packer, unless the pod is
  // being deleted.
  return isGameRunning(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Returns whether the kubelet has created the game's container. */
export function hasGameStarted(pod: Pod): boolean {
  const { state, lastState } = gameOf(pod) ?? {};
  return [state?.running, state?.terminated, lastState?.terminated].some((time) => time !== undefined);
}

/** Returns whether the game's container runs now. */
export function isGameRunning(pod: Pod): boolean {
  return gameOf(pod)?.state?.running !== undefined;
}

/** Returns whether the game's container has ended. */
export function isGameTerminated(pod: Pod): boolean {
  return gameOf(pod)?.state?.terminated !== undefined;
}

function gameOf(pod: Pod) {
  return pod.status?.containerStatuses?.find(({ name }) => name === containerNames.game);
}

/** Aborts the work for a launch that was cancelled. The session's next pass decides from its new state. */
export class LaunchCancelled extends PassInterrupted {
  constructor() {
    super("The launch was cancelled, because the session is ending or has moved to another node.");
    this.name = "LaunchCancelled";
  }
}

/**
 * Runs work of a launch with a signal that is aborted by LaunchCancelled as soon as the cache shows that the
 * session is ending or no longer has it, as after its removal or move to another node. The caller's signal
 * aborts it too. Returns the work's result.
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
    look(); // The session may have changed while the work waited for its turn.
    const launching = AbortSignal.any([signal, cancelling.signal]);
    launching.throwIfAborted();
    return await work(launching);
  } finally {
    unsubscribe();
  }
}
