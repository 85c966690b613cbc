import type { Clock } from "#runtime/scheduling/clock.ts";
import type { PartnerApi } from "./server/partnerApi.ts";
import type { Sync } from "./server/responses.ts";

/** A game server without the current version. */
export interface PendingServer {
  id: string;
  /** Why it does not have it; undefined if the server does not say. */
  message: string | undefined;
  /** Whether it should fetch the version without being asked by a player. */
  isExpected: boolean;
  /** Whether waiting for it may help. */
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
const unexpected: ReadonlySet<string | undefined> = new Set(["on_demand", "not_selected", "suspended"]);
/** Reasons that only a person can remove. */
const lasting: ReadonlySet<string | undefined> = new Set([
  "archive_refused",
  "archive_missing",
  "archive_damaged",
]);
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
  let wasOver = false;
  for (;;) {
    const sync = await api.sync();
    const distribution = distributionOf(sync);
    for (const text of changes(sync)) {
      if (!shown.has(text)) note(text);
      shown.add(text);
    }
    const isOver = !distribution.pending.some(({ isAwaited }) => isAwaited);
    // Servers are selected moments after the cluster learns of a version, so one look is not enough.
    const isSettled = isOver && (wasOver || distribution.pending.length === 0);
    if (isSettled || clock.monotonicMs() + intervalMs > endMs) return distribution;
    wasOver = isOver;
    await clock.sleep(intervalMs, signal);
  }
}

/** Returns the state as the server tells it. */
export function distributionOf({ totalServers, cachedOn, servers }: Sync): Distribution {
  const pending = servers
    .filter(({ status }) => status !== "cached")
    .map(({ id, pending: why }) => {
      const isExpected = !unexpected.has(why?.reason);
      // One that does not report may be off for long. Others suffice for players.
      const isOff = why?.reason === "server_unavailable" && cachedOn > 0;
      return {
        id,
        message: why?.message,
        isExpected,
        isAwaited: isExpected && !isOff && !lasting.has(why?.reason),
      };
    });
  return { servers: totalServers, cached: cachedOn, pending };
}

/** Returns what a person may want to know of a state. */
function changes({ totalServers, cachedOn, servers }: Sync): string[] {
  const troubles = servers
    .filter(({ pending }) => pending !== undefined && !unexpected.has(pending.reason))
    .filter(({ pending }) => !ordinary.has(pending?.reason))
    .map(({ id, pending }) => `${id}: ${pending?.message ?? ""}`);
  return [`Game servers that hold it: ${cachedOn} of ${totalServers}`, ...troubles];
}
