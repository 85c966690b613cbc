import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";

/**
 * What a check of the invariants looks at: the database, the API server and the object store of one platform.
 */
export interface InvariantStores {
  /** The one value of the one row of this SQL, which is JSON. One statement is asked for at a time. */
  json(sql: string): Promise<unknown>;
  gameSessions(): Promise<Stored<GameSession>[]>;
  /** Pods in the namespace of sessions. */
  pods(): Promise<Stored<Pod>[]>;
  /** SHA-256 of each of these objects; those that there are not are left out. */
  digestsOf(objectKeys: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
