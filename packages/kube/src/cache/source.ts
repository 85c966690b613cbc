import { type KubeObject, keyOf, type Stored } from "../api/object.ts";
import { type Clock, systemClock, type Timer } from "#runtime/scheduling/clock.ts";
import type { Change, ObjectCache } from "./cache.ts";

/** Notifies a controller of keys that may need work. */
export interface Source {
  waitForSync(signal?: AbortSignal): Promise<void>;
  /** Calls `enqueue` for each key that a change affects. Returns a function that unsubscribes. */
  subscribe(enqueue: (key: string) => void): () => void;
  /** Returns the keys of all known objects. */
  keys(): string[];
}

/** A cache that is kept up to date, for example a Reflector. */
export interface WatchedCache<T extends KubeObject> {
  readonly cache: Pick<ObjectCache<T>, "list" | "subscribe">;
  waitForSync(signal?: AbortSignal): Promise<void>;
}

/** Maps the changes of a cache to keys. */
export interface SourceOptions<T extends KubeObject> {
  /** Returns the keys that an object affects. Defaults to the key of the object. */
  keys?: ((object: Stored<T>) => string[]) | undefined;
  /** Returns whether a change is relevant. Defaults to all changes. */
  when?: ((change: Change<T>) => boolean) | undefined;
}

/**
 * Returns a source of the changes of a cache. An update affects the keys of both versions, so that a former
 * owner is notified too.
 */
export function fromCache<T extends KubeObject>(
  watched: WatchedCache<T>,
  { keys = (object) => [keyOf(object)], when }: SourceOptions<T> = {},
): Source {
  return {
    waitForSync: (signal) => watched.waitForSync(signal),
    subscribe: (enqueue) =>
      watched.cache.subscribe((change) => {
        if (when && !when(change)) return;
        const concerned = new Set(keys(change.object));
        if (change.type === "updated") for (const key of keys(change.previous)) concerned.add(key);
        concerned.forEach(enqueue);
      }),
    keys: () => [...new Set(watched.cache.list().flatMap(keys))],
  };
}

/** Maps changes that affect many objects to keys. */
export interface WideSourceOptions<T extends KubeObject> {
  /** Returns all keys that such a change affects. */
  keys: () => string[];
  /** Returns whether a change enqueues these keys. Defaults to all changes. */
  when?: ((change: Change<T>) => boolean) | undefined;
  /** Changes within this time are handled together. Defaults to 100 ms. */
  spacingMs?: number | undefined;
  clock?: Clock | undefined;
}

/**
 * Returns a source of changes that each affect many objects. Keys are listed at the first change and then at
 * most once per interval, so that n changes do not cause n² reconciles. Changes at a start or a resync are
 * ignored, because the objects' own source covers them.
 */
export function fromWideChanges<T extends KubeObject>(
  watched: WatchedCache<T>,
  { keys, when, spacingMs = 100, clock = systemClock }: WideSourceOptions<T>,
): Source {
  return {
    waitForSync: (signal) => watched.waitForSync(signal),
    subscribe: (enqueue) => {
      let timer: Timer | undefined;
      let isDue = false;
      const look = (): void => {
        isDue = false;
        keys().forEach(enqueue);
        timer = clock.setTimer(spacingMs, () => {
          timer = undefined;
          if (isDue) look();
        });
      };
      const unsubscribe = watched.cache.subscribe((change) => {
        if (when && !when(change)) return;
        if (timer === undefined) look();
        else isDue = true;
      });
      return () => {
        unsubscribe();
        timer?.cancel();
      };
    },
    keys: () => [],
  };
}
