import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";

/** The stores that invariants are checked on: database, API server and object store of a platform. */
export interface InvariantStores {
  /**
   * Runs SQL that returns one row with one JSON value, and returns that value. Runs one statement at a time.
   */
  json(sql: string): Promise<unknown>;
  gameSessions(): Promise<Stored<GameSession>[]>;
  /** Returns the pods in the namespace of sessions. */
  pods(): Promise<Stored<Pod>[]>;
  /** Returns the SHA-256 digests of these objects, without missing ones. */
  digestsOf(objectKeys: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
