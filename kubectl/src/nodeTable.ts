import { gameNodeChecks, type GameNode } from "#contracts/crd/gameNode.ts";
import type { Lease } from "#kube/api/builtin.ts";
import { ageText, bytesText } from "./output/quantities.ts";
import { table } from "./output/table.ts";

/**
 * Returns game nodes as a table, with what keeps each from taking sessions. Their agents were heard when
 * their Leases say so.
 */
export function nodeTable(nodes: readonly GameNode[], leases: readonly Lease[], now: Date): string {
  const renewals = new Map(leases.map(({ metadata, spec }) => [metadata.name, spec?.renewTime]));
  const rows = nodes.map((node) => {
    const { capacity, cache, heartbeat, addresses } = node.status ?? {};
    return [
      node.metadata.name,
      capacity === undefined ? undefined : capacity.schedulable ? "yes" : "NO",
      capacity && `${capacity.used}/${capacity.slots}`,
      cache && `${bytesText(cache.freeBytes)} of ${bytesText(cache.capacityBytes)}`,
      cache?.entries.filter(({ state }) => state === "Ready").length,
      addresses?.external ?? addresses?.internal,
      ageText(laterOf(renewals.get(node.metadata.name), heartbeat?.renewedAt), now),
      heartbeat?.agentVersion,
      troubleOf(node),
    ];
  });
  return rows.length === 0
    ? "There is no game node: label one as the chart value gameNodes.selector says."
    : table(["NODE", "TAKES", "SLOTS", "CACHE FREE", "GAMES", "ADDRESS", "HEARD", "AGENT", "WHY"], rows);
}

/** Agents without a Lease say in the status that they live. */
function laterOf(renewed: string | undefined, reported: string | undefined): string | undefined {
  return [renewed, reported]
    .flatMap((time) => time ?? [])
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);
}

/** The conditions that are healthy when they are true; the others tell a fault by being true. */
const good: ReadonlySet<string> = new Set([
  "Ready",
  "StoreReachable",
  "Reachable",
  "Filled",
  ...gameNodeChecks,
]);

function troubleOf({ status }: GameNode): string | undefined {
  const troubles = (status?.conditions ?? []).filter(
    ({ type, status: is }) => is === (good.has(type) ? "False" : "True"),
  );
  if (troubles.length > 0)
    return troubles
      .map(
        ({ type, reason, message }) =>
          `${good.has(type) ? `not ${type}` : type} (${reason})${message === "" ? "" : ` ${message}`}`,
      )
      .join("; ");
  if (status?.capacity?.schedulable !== false) return undefined;
  return status.capacity.unschedulable?.message ?? "cordoned, or tainted";
}
