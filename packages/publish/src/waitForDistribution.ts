import type { Clock } from "#runtime/scheduling/clock.ts";
import type { PartnerApi } from "./server/partnerApi.ts";
import type { Sync } from "./server/responses.ts";

/** A game server without the current version. */
export interface PendingServer {
  id: string;
  /** Why it does not have it; undefined if the server does not say. */
  message: string | undefined;
  /** Whether it is going to fetch the version without being asked by a player. */
  isAwaited: boolean;
}

/** Which game servers hold the current version. */
export interface Distribution {
  servers: number;
  cached: number;
  pending: PendingServer[];
}

const intervalMs = 3000;

/** Reasons of servers that fetch the version only when a player needs it. */
const unawaited: ReadonlySet<string | undefined> = new Set(["on_demand", "not_selected", "suspended"]);
/** Reasons that pass by themselves, so that nobody needs to read them. */
const ordinary: ReadonlySet<string | undefined> = new Set(["no_version", "waiting", "downloading"]);

/**
 * Waits until every game server that should hold the current version does, or the time is up. Returns the
 * last state.
 */
export async function waitForDistribution(
  api: PartnerApi,
  { clock, signal, timeoutMs }: { clock: Clock; signal: AbortSignal; timeoutMs: number },
  note: (text: string) => void,
): Promise<Distribution> {
  const endMs = clock.monotonicMs() + timeoutMs;
  const shown = new Set<string>();
  for (;;) {
    const sync = await api.sync();
    const distribution = distributionOf(sync);
    for (const text of changes(sync)) {
      if (!shown.has(text)) note(text);
      shown.add(text);
    }
    const isOver = !distribution.pending.some(({ isAwaited }) => isAwaited);
    if (isOver || clock.monotonicMs() + intervalMs > endMs) return distribution;
    await clock.sleep(intervalMs, signal);
  }
}

/** Returns the state as the server tells it. */
export function distributionOf({ totalServers, cachedOn, servers }: Sync): Distribution {
  const pending = servers
    .filter(({ status }) => status !== "cached")
    .map(({ id, pending: why }) => ({
      id,
      message: why?.message,
      isAwaited: !unawaited.has(why?.reason),
    }));
  return { servers: totalServers, cached: cachedOn, pending };
}

/** Returns what a person may want to know of a state. */
function changes({ totalServers, cachedOn, servers }: Sync): string[] {
  const troubles = servers
    .filter(({ pending }) => pending !== undefined && !unawaited.has(pending.reason))
    .filter(({ pending }) => !ordinary.has(pending?.reason))
    .map(({ id, pending }) => `${id}: ${pending?.message ?? ""}`);
  return [`Game servers that hold it: ${cachedOn} of ${totalServers}`, ...troubles];
}
