import type { Queryable } from "../../stores/queryable.ts";

/** A version that every selected node holds. */
export interface Distribution {
  objectKey: string;
  servers: number;
}

/** A version that some nodes could not fetch, while no other node is fetching it. */
export interface DistributionFailure {
  objectKey: string;
  message: string;
}

/** A current version whose distribution was not recorded before. */
interface DistributedVersion {
  gameId: string;
  gameVersionId: string;
  servers: number;
}

/** Marks current versions as distributed, and returns those that were not since their activation. */
export async function updateVersionsDistributed(
  transaction: Queryable,
  distributions: readonly Distribution[],
): Promise<DistributedVersion[]> {
  const { rows } = await transaction.query<DistributedVersion>({
    name: "mark-versions-distributed",
    text: `UPDATE game_versions v SET distributed_at = now()
      FROM games g, unnest($1::text[], $2::int[]) AS held (object_key, servers)
      WHERE v.object_key = held.object_key AND v.distributed_at IS NULL AND g.id = v.game_id AND g.current_version_id = v.id
      RETURNING g.id AS "gameId", v.id AS "gameVersionId", coalesce(held.servers, 0) AS servers`,
    values: [distributions.map(({ objectKey }) => objectKey), distributions.map(({ servers }) => servers)],
  });
  return rows;
}

/** A current version whose failed distribution was not recorded before. */
interface FailedVersion {
  gameId: string;
  gameVersionId: string;
  message: string;
}

/** Marks current versions as not distributable, and returns those that were not since their activation. */
export async function updateVersionsFailed(
  transaction: Queryable,
  failures: readonly DistributionFailure[],
): Promise<FailedVersion[]> {
  const { rows } = await transaction.query<FailedVersion>({
    name: "mark-versions-failed",
    text: `UPDATE game_versions v SET distribution_failed_at = now()
      FROM games g, unnest($1::text[], $2::text[]) AS failed (object_key, message)
      WHERE v.object_key = failed.object_key AND v.distribution_failed_at IS NULL AND g.id = v.game_id AND g.current_version_id = v.id
      RETURNING g.id AS "gameId", v.id AS "gameVersionId", coalesce(failed.message, '') AS message`,
    values: [failures.map(({ objectKey }) => objectKey), failures.map(({ message }) => message)],
  });
  return rows;
}
