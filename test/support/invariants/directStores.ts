import type pg from "pg";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import { sha256Of } from "../fixtures/archives.ts";
import type { TestMinio } from "../stores/minio.ts";
import type { InvariantStores } from "./invariantStores.ts";

/** A test's access to its platform's stores. */
export interface DirectAccess {
  pool: Pick<pg.Pool, "query">;
  sessions: ResourceClient<GameSession>;
  pods: ResourceClient<Pod>;
  /** Namespace of sessions. */
  namespace: string;
  minio: Pick<TestMinio, "client" | "bucket"> | undefined;
}

/**
 * Returns the stores of a platform that tests have created, without the proxies between them and the
 * programs.
 */
export function directStores({ pool, sessions, pods, namespace, minio }: DirectAccess): InvariantStores {
  return {
    json: async (sql) => (await pool.query<{ json_build_object: unknown }>(sql)).rows[0]?.json_build_object,
    gameSessions: async () => (await sessions.listAll({ namespace })).items,
    pods: async () => (await pods.listAll({ namespace })).items,
    async digestsOf(objectKeys) {
      const digests = new Map<string, string>();
      for (const key of objectKeys) {
        const bytes = await readObject(minio, key).catch(undefinedWhenMissing);
        if (bytes !== undefined) digests.set(key, sha256Of(bytes));
      }
      return digests;
    },
  };
}

async function readObject(minio: DirectAccess["minio"], key: string): Promise<Buffer> {
  if (minio === undefined) throw new Error("The platform was started without an object store.");
  const body = await minio.client.getObject(minio.bucket, key);
  return Buffer.concat((await body.toArray()) as Buffer[]);
}

function undefinedWhenMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "NoSuchKey") return undefined;
  throw error;
}
