import type { Queryable } from "../stores/queryable.ts";

/** What one session used of its node. */
export interface ResourceUse {
  cpuMillicores: number;
  peakMemoryMb: number;
  durationSeconds: number;
}

/**
 * Takes a session's use into the game's moving averages, weighted by `newestWeight` (0 to 1); the first use
 * is the average.
 */
export async function updateResourceProfile(
  db: Queryable,
  gameId: string,
  usage: ResourceUse,
  newestWeight: number,
): Promise<void> {
  await db.query({
    name: "average-in",
    text: `UPDATE games SET profile_sessions = profile_sessions + 1,
        profile_cpu_millicores = COALESCE(profile_cpu_millicores * (1 - $2::float8) + $3 * $2::float8, $3),
        profile_peak_memory_mb = COALESCE(profile_peak_memory_mb * (1 - $2::float8) + $4 * $2::float8, $4),
        profile_duration_seconds = COALESCE(profile_duration_seconds * (1 - $2::float8) + $5 * $2::float8, $5)
      WHERE id = $1`,
    values: [gameId, newestWeight, usage.cpuMillicores, usage.peakMemoryMb, usage.durationSeconds],
  });
}

/**
 * Raises the game's highest memory, and the least limit of its next session, to these; neither is ever
 * lowered, and undefined leaves one as it is.
 */
export async function raiseGameMemory(
  db: Queryable,
  gameId: string,
  { highestMb, floorMb }: { highestMb: number | undefined; floorMb: number | undefined },
): Promise<void> {
  await db.query({
    name: "raise-memory",
    text: `UPDATE games SET profile_highest_memory_mb = GREATEST(profile_highest_memory_mb, $2::float8),
        profile_memory_floor_mb = GREATEST(profile_memory_floor_mb, $3::int)
      WHERE id = $1 AND ($2::float8 > COALESCE(profile_highest_memory_mb, 0) OR $3::int > COALESCE(profile_memory_floor_mb, 0))`,
    values: [gameId, highestMb ?? null, floorMb ?? null],
  });
}
