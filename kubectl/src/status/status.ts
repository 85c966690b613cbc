import { isFinished } from "#contracts/crd/sessionState.ts";
import { GameSessionPhase, type GameSession } from "#contracts/crd/gameSession.ts";
import type { Installation } from "../cluster/installation.ts";
import type { Observed } from "../cluster/observe.ts";
import { componentLabel, type Workload, readyOf } from "../cluster/workloads.ts";
import { ageText } from "../output.ts";
import { table } from "#runtime/textTable.ts";
import { phaseOf } from "../session/sessionState.ts";
import { isHeld, leaseOf, programsWithLeaders, warningsOf } from "./warnings.ts";

/** The status of an installation, as `-o json` prints it. */
export interface Status {
  release: string;
  version: string;
  namespace: string;
  server: string;
  maintenance: { since: string; message: string | null } | null;
  components: { name: string; namespace: string; ready: number; wanted: number; image: string | null }[];
  leaders: { program: string; holder: string | null }[];
  nodes: { total: number; schedulable: number; slots: number; used: number };
  sessions: Partial<Record<GameSessionPhase | "Failed", number>>;
  games: { total: number; ready: number };
  /** Launches that wait for a seat; null if the API could not be asked. */
  queue: { length: number; oldestWaitSeconds: number } | null;
  stores: { state: "ready" | "unready" | "unknown"; message: string | null };
  warnings: string[];
}

/** Summarizes an observation. */
export function statusOf(
  { release, version, namespace, server }: Installation,
  observed: Observed,
  now: Date,
): Status {
  const { workloads, leases, nodes, sessions, caches, stores, queue, maintenance } = observed;
  const capacities = nodes.flatMap(({ status }) => status?.capacity ?? []);
  const open = capacities.filter(({ schedulable }) => schedulable);
  const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);
  return {
    release,
    version,
    namespace,
    server,
    maintenance:
      maintenance === undefined ? null : { since: maintenance.since, message: maintenance.message ?? null },
    components: workloads.map(componentOf),
    leaders: programsWithLeaders.map((program) => {
      const lease = leaseOf(program, leases);
      return { program, holder: isHeld(lease, now) ? (lease?.spec?.holderIdentity ?? null) : null };
    }),
    nodes: {
      total: nodes.length,
      schedulable: open.length,
      slots: sum(open.map(({ slots }) => slots)),
      used: sum(open.map(({ used }) => used)),
    },
    sessions: phasesOf(sessions),
    games: {
      total: caches.length,
      ready: caches.filter(
        ({ status }) =>
          status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
      ).length,
    },
    queue: queue ?? null,
    stores: { state: stores.state, message: stores.state === "ready" ? null : stores.message },
    warnings: warningsOf(observed, now),
  };
}

/** Returns the status as text. */
export function presentStatus(status: Status, now: Date): string {
  const {
    release,
    version,
    namespace,
    server,
    maintenance,
    components,
    leaders,
    nodes,
    sessions,
    games,
    queue,
    stores,
    warnings,
  } = status;
  const phases = Object.entries(sessions).map(([phase, count]) => `${count} ${phase}`);
  const facts = [
    ["Release", `${release} ${version} in namespace ${namespace} at ${server}`],
    [
      "Maintenance",
      maintenance === null
        ? "off"
        : `ON for ${ageText(maintenance.since, now) ?? ""}: ${maintenance.message ?? "no message"}`,
    ],
    ["Leaders", leaders.map(({ program, holder }) => `${program} ${holder ?? "NONE"}`).join(", ")],
    [
      "Nodes",
      `${nodes.schedulable} of ${nodes.total} accept sessions; ${nodes.used} of ${nodes.slots} slots in use`,
    ],
    ["Sessions", phases.length === 0 ? "none" : phases.join(", ")],
    ["Queue", queueText(queue, now)],
    ["Games", `${games.ready} of ${games.total} fully distributed`],
    ["Stores", stores.state === "ready" ? "ready" : `${stores.state}: ${stores.message ?? ""}`],
  ];
  const rows = components.map(({ name, namespace: place, ready, wanted, image }) => [
    name,
    `${ready}/${wanted}`,
    place,
    image ?? undefined,
  ]);
  return [
    facts.map(([name = "", fact = ""]) => `${`${name}:`.padEnd(14)}${fact}`).join("\n"),
    table(["COMPONENT", "READY", "NAMESPACE", "IMAGE"], rows),
    warnings.length === 0
      ? "No warnings."
      : `Warnings:\n${warnings.map((warning) => `  ! ${warning}`).join("\n")}`,
  ].join("\n\n");
}

function queueText(queue: Status["queue"], now: Date): string {
  if (queue === null) return "unknown";
  if (queue.length === 0) return "empty";
  const since = new Date(now.getTime() - queue.oldestWaitSeconds * 1000).toISOString();
  return `${queue.length} waiting for a seat, the first for ${ageText(since, now) ?? ""}`;
}

function componentOf(workload: Workload): Status["components"][number] {
  const { metadata, spec } = workload;
  const [container] = spec.template.spec.containers;
  return {
    name: metadata.labels?.[componentLabel] ?? metadata.name,
    namespace: metadata.namespace ?? "",
    ...readyOf(workload),
    image: container?.image ?? null,
  };
}

/** Counts sessions by phase, in order of phases. Failed sessions are counted separately. */
function phasesOf(sessions: readonly GameSession[]): Status["sessions"] {
  const counted = sessions.map((session) =>
    isFinished(session) && session.status?.failure !== undefined ? "Failed" : phaseOf(session),
  );
  const counts = [...GameSessionPhase.options, "Failed" as const].map(
    (phase) => [phase, counted.filter((each) => each === phase).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}
