import type { Clock } from "#runtime/scheduling/clock.ts";
import type { PartnerApi } from "./server/partnerApi.ts";
import type { Sync } from "./server/responses.ts";

/** Which game servers hold the current version. */
export interface Distribution {
  servers: number;
  cached: number;
  /** Ids of the servers without it. */
  pending: string[];
}

const intervalMs = 3000;

/** Waits until every game server holds the current version, or the time is up. Returns the last state. */
export async function waitForDistribution(
  api: PartnerApi,
  { clock, signal, timeoutMs }: { clock: Clock; signal: AbortSignal; timeoutMs: number },
  onChange: (distribution: Distribution) => void,
): Promise<Distribution> {
  const endMs = clock.monotonicMs() + timeoutMs;
  let shown: number | undefined;
  for (;;) {
    const distribution = distributionOf(await api.sync());
    if (distribution.cached !== shown) onChange(distribution);
    shown = distribution.cached;
    if (distribution.pending.length === 0 || clock.monotonicMs() + intervalMs > endMs) return distribution;
    await clock.sleep(intervalMs, signal);
  }
}

function distributionOf({ totalServers, cachedOn, servers }: Sync): Distribution {
  const pending = servers.filter(({ status }) => status !== "cached").map(({ id }) => id);
  return { servers: totalServers, cached: cachedOn, pending };
}
