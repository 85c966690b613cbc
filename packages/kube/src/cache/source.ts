import { type KubeObject, keyOf, type Stored } from "../api/object.ts";
import { type Clock, systemClock, type Timer } from "#runtime/scheduling/clock.ts";
import type { Change, ObjectCache } from "./cache.ts";

/** Where a controller learns that a key may need work. */
export interface Source {
  waitForSync(signal?: AbortSignal): Promise<void>;
  /** Calls `enqueue` for each key a change concerns, from now on; returns the function that ends it. */
  subscribe(enqueue: (key: string) => void): () => void;
  /** The keys that all known objects concern. */
  keys(): string[];
}

/** A cache that is kept up to date: a Reflector is one. */
export interface WatchedCache<T extends KubeObject> {
  readonly cache: Pick<ObjectCache<T>, "list" | "subscribe">;
  waitForSync(signal?: AbortSignal): Promise<void>;
}

/** How the changes of a cache become keys. */
export interface SourceOptions<T extends KubeObject> {
  /** The keys an object concerns; its own key unless given. */
  keys?: ((object: Stored<T>) => string[]) | undefined;
  /** Whether a change matters; all do unless given. */
  when?: ((change: Change<T>) => boolean) | undefined;
}

/**
 * Returns a source of the changes of a cache. For an update both versions are asked, so that a former owner
 * learns of its loss too.
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

/** How changes that concern many objects become keys. */
export interface WideSourceOptions<T extends KubeObject> {
  /** Returns all keys that such a change concerns. */
  keys: () => string[];
  /** Whether a change enqueues these keys; every change does unless given. */
  when?: ((change: Change<T>) => boolean) | undefined;
  /** Changes that come within this time of each other are answered together; 100 ms unless given. */
  spacingMs?: number | undefined;
  clock?: Clock | undefined;
}

/**
 * Returns a source of changes each of which concerns many objects. The keys are asked for at the first change
 * and then at most once per spacing, so that as many changes as there are objects do not cost their square;
 * at a start or a resync they are left to the objects' own source.
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
