import { measureApiCpu } from "./apiCpu.ts";
import { countRedisCommands } from "./apiRedis.ts";
import { measureSignIns } from "./apiSignIns.ts";
import { measureTokens } from "./apiTokens.ts";
import { createBenchFixture } from "./http/fixture.ts";
import type { BenchRow } from "./row.ts";

const players = 32;

/** Measures the wanted ones of A1, A2, A3 and A6: the API with separate stores, without a cluster. */
export async function measureApi(isWanted: (part: string) => boolean): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  if (isWanted("A2")) rows.push(await measureTokens());
  if (!["A1", "A3", "A6"].some(isWanted)) return rows;
  const fixture = await createBenchFixture({ players });
  try {
    if (isWanted("A1")) rows.push(...(await measureApiCpu(fixture)));
    if (isWanted("A3")) rows.push(...(await measureSignIns(fixture)));
    if (isWanted("A6")) rows.push(await countRedisCommands(fixture));
  } finally {
    await fixture.discard();
  }
  return rows;
}
