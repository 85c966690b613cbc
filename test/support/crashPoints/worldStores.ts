import { sha256Of } from "../fixtures/archives.ts";
import type { InvariantStores } from "../invariants/invariantStores.ts";
import type { CrashWorld } from "./crashWorld.ts";

/** The stores of a world, as they are behind the gates. */
export function storesOf(world: CrashWorld): InvariantStores {
  const { fixture: { namespace, sessions, pods }, api: { deps: { postgres: { pool } } } } = world;
  return {
    json: async (sql) => (await pool.query<{ json_build_object: unknown }>(sql)).rows[0]?.json_build_object,
    gameSessions: async () => (await sessions.listAll({ namespace })).items,
    pods: async () => (await pods.listAll({ namespace })).items,
    digestOf: async (key) => {
      try {
        return sha256Of(await world.readObject(key));
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "NoSuchKey") return undefined;
        throw error;
      }
    },
  };
}
