import { type KubeObject, isOlderVersion, keyOf, type Stored } from "../api/object.ts";
import { type Logger, silentLogger } from "#runtime/logger.ts";

/**
 * A change of an object. An object that is recreated under its name is a deletion followed by an addition.
 */
export type Change<T extends KubeObject> =
  | { type: "added"; object: Stored<T> }
  | { type: "updated"; object: Stored<T>; previous: Stored<T> }
  | { type: "deleted"; object: Stored<T> };

/** Returns the values under which an index lists an object. */
export type IndexFunction<T extends KubeObject> = (object: Stored<T>) => string[];

/** Read access to a cache. Objects are shared: copy them before changes. */
export interface CacheReader<T extends KubeObject, I extends string = never> {
  /** Returns the object with this key, see keyOf. */
  get(key: string): Stored<T> | undefined;
  list(): Stored<T>[];
  byIndex(index: I, value: string): Stored<T>[];
  readonly size: number;
  /** Calls `handler` on each change. Returns a function that unsubscribes. */
  subscribe(handler: (change: Change<T>) => void): () => void;
}

/** Difference between a full list and the cache: changes that the watch missed. */
export interface Drift {
  added: number;
  updated: number;
  deleted: number;
}

export interface CacheOptions<T extends KubeObject, I extends string> {
  indexes?: Record<I, IndexFunction<T>> | undefined;
  logger?: Logger | undefined;
}

/** Number of remembered deletions. They keep a late older version from restoring an object. */
const maxTombstones = 1000;

/**
 * The last known version of each object, by key and by index. Versions never go backwards unless a later list
 * contains the older one.
 */
export class ObjectCache<T extends KubeObject, I extends string = never> implements CacheReader<T, I> {
  readonly #objects = new Map<string, Stored<T>>();
  /** Version at which each key was deleted since the last list. */
  readonly #tombstones = new Map<string, string>();
  /**
   * Version of the last list. An object that is not in the list and not newer was deleted or is not selected.
   */
  #listedAt: string | undefined;
  readonly #indexes: { name: I; values: IndexFunction<T>; keys: Map<string, Set<string>> }[];
  readonly #handlers = new Set<(change: Change<T>) => void>();
  readonly #logger: Logger;

  constructor({ indexes, logger }: CacheOptions<T, I> = {}) {
    this.#indexes = indexEntries(indexes).map(([name, values]) => ({
      name,
      values,
      keys: new Map<string, Set<string>>(),
    }));
    this.#logger = logger ?? silentLogger;
  }

  get(key: string): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  list(): Stored<T>[] {
    return [...this.#objects.values()];
  }

  byIndex(index: I, value: string): Stored<T>[] {
    const keys = this.#indexes.find(({ name }) => name === index)?.keys.get(value) ?? [];
    return [...keys].flatMap((key) => this.#objects.get(key) ?? []);
  }

  get size(): number {
    return this.#objects.size;
  }

  subscribe(handler: (change: Change<T>) => void): () => void {
    this.#handlers.add(handler);
    return () => void this.#handlers.delete(handler);
  }

  /**
   * Adds a version of an object, from a watch or from the response to a write. Returns the change, or
   * undefined if the version is not newer.
   */
  upsert(object: Stored<T>): Change<T>["type"] | undefined {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous !== undefined) {
      const isOlder = isOlderVersion(object.metadata.resourceVersion, previous.metadata.resourceVersion);
      return isOlder ? undefined : this.#exchange(key, previous, object);
    }
    return this.#isGone(key, object) || isUpTo(object, this.#listedAt) ? undefined : this.#add(key, object);
  }

  /** Removes an object, given its last version. Ignored if a newer object has the same name. */
  remove(object: Stored<T>): boolean {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    this.#rememberDeletion(key, object);
    if (known === undefined) return false;
    if (isOlderVersion(object.metadata.resourceVersion, known.metadata.resourceVersion)) return false;
    this.#drop(key, known);
    // The deletion event has the object's final state, unless it is about another object of the same name.
    this.#notify({ type: "deleted", object: known.metadata.uid === object.metadata.uid ? object : known });
    return true;
  }

  /**
   * Replaces the content with a full list at `resourceVersion`. Objects that are newer than the list are
   * kept. A version that the list should contain, but has in an older version, is lost: the cluster's storage
   * was restored from a backup.
   */
  replace(objects: readonly Stored<T>[], resourceVersion: string): Drift {
    const drift: Drift = { added: 0, updated: 0, deleted: 0 };
    this.#listedAt = resourceVersion;
    for (const [key, deletedAt] of this.#tombstones) {
      if (!isOlderVersion(resourceVersion, deletedAt)) this.#tombstones.delete(key);
    }
    const listed = new Set(objects.map(keyOf));
    for (const [key, object] of this.#objects) {
      if (listed.has(key) || isOlderVersion(resourceVersion, object.metadata.resourceVersion)) continue;
      this.#drop(key, object);
      this.#notify({ type: "deleted", object });
      drift.deleted++;
    }
    for (const object of objects) {
      const change = this.#takeListed(object, resourceVersion);
      if (change !== undefined) drift[change]++;
    }
    return drift;
  }

  /**
   * Removes everything, including remembered deletions and the last list, after the cluster's storage was
   * restored from a backup.
   */
  clear(): void {
    for (const [key, object] of [...this.#objects]) {
      this.#drop(key, object);
      this.#notify({ type: "deleted", object });
    }
    this.#tombstones.clear();
    this.#listedAt = undefined;
  }

  /** Adds an object from a list that is newer than anything known before. */
  #takeListed(object: Stored<T>, listVersion: string): Change<T>["type"] | undefined {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (known === undefined) return this.#isGone(key, object) ? undefined : this.#add(key, object);
    return isOlderVersion(listVersion, known.metadata.resourceVersion)
      ? this.upsert(object)
      : this.#exchange(key, known, object);
  }

  #add(key: string, object: Stored<T>): "added" {
    this.#put(key, object);
    this.#notify({ type: "added", object });
    return "added";
  }

  /** Replaces the known object of the same name. */
  #exchange(key: string, previous: Stored<T>, object: Stored<T>): Change<T>["type"] | undefined {
    if (object.metadata.uid !== previous.metadata.uid) {
      this.#drop(key, previous);
      this.#notify({ type: "deleted", object: previous });
      return this.#add(key, object);
    }
    if (object.metadata.resourceVersion === previous.metadata.resourceVersion) return undefined;
    this.#drop(key, previous);
    this.#put(key, object);
    this.#notify({ type: "updated", object, previous });
    return "updated";
  }

  #put(key: string, object: Stored<T>): void {
    this.#objects.set(key, object);
    for (const { values, keys } of this.#indexes) {
      for (const value of values(object)) {
        const members = keys.get(value);
        if (members) members.add(key);
        else keys.set(value, new Set([key]));
      }
    }
  }

  #drop(key: string, object: Stored<T>): void {
    this.#objects.delete(key);
    for (const { values, keys } of this.#indexes) {
      for (const value of values(object)) {
        const members = keys.get(value);
        members?.delete(key);
        if (members?.size === 0) keys.delete(value);
      }
    }
  }

  #rememberDeletion(key: string, { metadata: { resourceVersion } }: Stored<T>): void {
    this.#tombstones.delete(key);
    this.#tombstones.set(key, resourceVersion);
    if (this.#tombstones.size <= maxTombstones) return;
    const oldest = this.#tombstones.keys().next();
    if (oldest.done !== true) this.#tombstones.delete(oldest.value);
  }

  /** The same object may return: with a selector, "deleted" also means that it no longer matches. */
  #isGone(key: string, object: Stored<T>): boolean {
    return isUpTo(object, this.#tombstones.get(key));
  }

  #notify(change: Change<T>): void {
    for (const handler of this.#handlers) {
      try {
        handler(change);
      } catch (error) {
        this.#logger.error(
          { err: error, object: keyOf(change.object) },
          "A cache handler threw an error. The other handlers continue.",
        );
      }
    }
  }
}

function indexEntries<I extends string, F>(indexes: Record<I, F> | undefined): [I, F][] {
  return indexes === undefined ? [] : (Object.entries(indexes) as [I, F][]);
}

/** Returns whether the object has this version or an older one. Non-numeric versions have no order. */
function isUpTo(
  { metadata: { resourceVersion } }: { metadata: { resourceVersion: string } },
  version: string | undefined,
): boolean {
  return version !== undefined && (version === resourceVersion || isOlderVersion(resourceVersion, version));
}
