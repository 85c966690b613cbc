import { createHmac } from "node:crypto";
import { lookup } from "node:dns/promises";
import { isIPv6 } from "node:net";
import { type Clock, systemClock } from "#runtime/scheduling/clock.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { addressesOn } from "../nodes/addresses.ts";

/** Relays respond at once, and the request is repeated soon anyway. */
const timeoutMs = 2_000;

/** Dependencies of tellRelays. */
interface TellRelaysDeps {
  cluster: Pick<Cluster, "nodes" | "gameNodes">;
  clock: Clock;
  announceAddresses: readonly string[];
  /** A host name that resolves to all relays. */
  relay: { host: string; port: number; secret: string };
  metrics: { relaysTold(counts: { told: number; untold: number }): void };
}

/**
 * Sends each relay the addresses that it may reach: those of the game nodes. Throws one error that names
 * every relay that did not accept them.
 */
export async function tellRelays(
  { cluster, clock, announceAddresses, relay, metrics }: TellRelaysDeps,
  signal: AbortSignal,
): Promise<void> {
  const addresses = cluster.gameNodes
    .list()
    .flatMap(({ metadata: { name } }) => addressesOn(name, { cluster, config: { announceAddresses } }));
  const notice = gameNodesNotice(addresses, relay.secret, clock.now());
  const relays = await lookup(relay.host, { all: true }).catch((error: unknown) => {
    // The name resolves only to running relays, so without any there is nothing to count.
    metrics.relaysTold({ told: 0, untold: 0 });
    throw error;
  });
  const told = await Promise.allSettled(
    relays.map(async ({ address }) => {
      const url = `http://${isIPv6(address) ? `[${address}]` : address}:${relay.port}/game-nodes`;
      const response = await withDeadline(
        { clock: systemClock, ms: timeoutMs, what: `The response of the relay at ${address}`, signal },
        (deadline) => fetch(url, { method: "PUT", ...notice, redirect: "error", signal: deadline }),
      );
      if (!response.ok) throw new Error(`${address} responded with status ${response.status}.`);
    }),
  );
  const failures = told.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
  metrics.relaysTold({ told: relays.length - failures.length, untold: failures.length });
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      `${failures.length} of ${relays.length} relays could not be updated with the game nodes.`,
    );
}

/** The request that sends a relay the game nodes: its body, and the body's signature by the shared secret. */
interface GameNodesNotice {
  body: string;
  headers: Record<string, string>;
}

/** Returns the signed request that limits a relay to these addresses. */
export function gameNodesNotice(addresses: readonly string[], secret: string, now: Date): GameNodesNotice {
  const body = JSON.stringify({
    at: Math.floor(now.getTime() / 1_000),
    addresses: [...new Set(addresses)].toSorted(),
  });
  const signature = createHmac("sha256", secret).update(`game-nodes\n${body}`).digest("hex");
  return { body, headers: { "content-type": "application/json", "x-joypod-signature": signature } };
}
