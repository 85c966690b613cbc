import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import type { PodResources, NodeLoads } from "#contracts/crd/capacity.ts";
import {
  agentLabelValueOf,
  ownershipConflict,
  ownershipMetadata,
  sessionsNamespaceAnnotation,
  type Installation,
} from "#contracts/crd/installation.ts";
import { fieldManagers, nodeAgentLabel } from "#contracts/crd/names.ts";
import { gameNodeEventReasons } from "#contracts/crd/gameNodeReasons.ts";
import type { Node } from "#kube/api/builtin.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { ReconcileContext, ReconcileResult } from "#kube/controllers/controller.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { ignoreDeleted, isAlreadyExists, isNotFound } from "#kube/api/errors.ts";
import type { EventSink } from "#kube/controllers/eventRecorder.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import { soonestMs, writeStatus } from "#kube/controllers/reconciler.ts";
import { ownedBy, type Draft, type Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { Heartbeats } from "../../nodes/nodeHealth.ts";
import type { Throttle } from "../../throttle.ts";
import type { FillPlan } from "../../content/fillPlan.ts";
import type { NodeLosses } from "../../nodes/nodeLosses.ts";
import { offeredBy, type OtherRequests } from "../../nodes/nodeRoom.ts";
import { hasPendingSave } from "../../nodes/occupancy.ts";
import {
  differenceOf,
  isSameDesired,
  nodeActionFor,
  statusOf,
  type NodeAction,
  type NodeWorld,
} from "./decide.ts";
import { fillEndsInMs } from "../../nodes/nodeFill.ts";
import type { CheckRules } from "../../nodes/nodeChecks.ts";
import type { SlotRules } from "../../nodes/slots.ts";
import { ensureLease, removeLease, type LeaseDeps } from "./leases.ts";

/** Dependencies of the node controller. */
export interface NodeDeps extends LeaseDeps {
  cluster: Cluster;
  gameNodes: ResourceClient<GameNode>;
  nodes: ResourceClient<Node>;
  gameSessions: ResourceClient<GameSession>;
  installation: Installation;
  events: EventSink;
  heartbeats: Heartbeats;
  nodeLosses: NodeLosses;
  fillPlan: FillPlan;
  rules: SlotRules & CheckRules;
  loads: NodeLoads;
  otherRequests: OtherRequests;
  podOverhead: PodResources;
  /** Time a new node gets to download its pinned games before it takes sessions anyway. */
  fillDeadlineMs: number;
  clock: Clock;
  /** Rate-limits writes that are not urgent. */
  throttle: Throttle;
}

/**
 * Maximum interval between passes for a silent node, because whether it counts as lost depends on the other
 * nodes.
 */
const silentRetryMs = 5_000;
/**
 * Minimum milliseconds between two writes of a node's status, by kind of change. Most changes affect only the
 * session count, which is informational: placement keeps its own count.
 */
const apartMs = { used: 10_000, minor: 2_000, major: 0 } as const;
/** Maximum interval between passes for a node that belongs to another installation. */
const takenRetryMs = 60_000;

/**
 * Returns a reconcile that keeps one GameNode per game node: its desired content, its slots, whether it
 * accepts sessions, and whether it runs an agent.
 */
export function createNodeReconciler(deps: NodeDeps) {
  return async (name: string, { signal, logger }: ReconcileContext): Promise<ReconcileResult | undefined> => {
    const node = deps.cluster.nodes.get(name);
    const known = deps.cluster.gameNodes.get(name);
    if (known && ownershipConflict(known, deps.installation) !== undefined)
      return reportForeignNode(node, known, deps);
    // Read before anything is observed. A heartbeat that expires during this pass was observed as fresh and
    // needs another pass.
    const staleInMs = deps.heartbeats.staleInMs(name);
    const world = observe(name, node, deps);
    const action = nodeActionFor(world);
    if (action === "remove" || !node) {
      if (
        node
          ? await isStillNeeded(node, deps, signal)
          : known !== undefined && (await isStillThere(name, deps, signal))
      )
        return undefined;
      const gameNode = deps.cluster.gameNodes.get(name);
      if (gameNode && !isDeleting(gameNode)) {
        await removeGameNode(gameNode, deps, signal);
        logger.info({ node: name }, "A node is no longer a game node.");
      }
      await removeLease(name, deps, signal);
      if (node) await labelForAgent(node, undefined, deps, signal);
      return undefined;
    }
    const gameNode = await applyDesired(node, deps, signal);
    if (ownershipConflict(gameNode, deps.installation) !== undefined)
      return reportForeignNode(node, gameNode, deps);
    // Pinned games no longer matter to a node that was filled once.
    const pinned = isConditionTrue(gameNode.status?.conditions, "Filled") ? [] : deps.fillPlan.pinnedOn(name);
    const waitMs = await reportStatus({ ...world, gameNode, pinned }, action, deps, signal);
    await labelForAgent(node, agentLabelValueOf(deps.installation), deps, signal);
    await ensureLease(gameNode, deps, signal);
    const silentMs = deps.nodeLosses.isSilent(name) ? silentRetryMs : 0;
    const fillMs = fillEndsInMs(deps.cluster.gameNodes.get(name), deps.fillDeadlineMs, world.now);
    return { requeueAfterMs: soonestMs([waitMs, staleInMs, silentMs, fillMs].filter((ms) => ms > 0)) };
  };
}

/** Reports on the Node that another installation owns it. */
function reportForeignNode(
  node: Stored<Node> | undefined,
  gameNode: Stored<GameNode>,
  { events, installation }: NodeDeps,
): ReconcileResult {
  const note = ownershipConflict(gameNode, installation);
  if (node && note !== undefined)
    events.record(node, { type: "Warning", reason: gameNodeEventReasons.nodeTaken, action: "Take", note });
  return { requeueAfterMs: takenRetryMs };
}

function observe(
  name: string,
  node: Node | undefined,
  {
    cluster,
    heartbeats,
    nodeLosses,
    loads,
    otherRequests,
    podOverhead,
    rules,
    fillDeadlineMs,
    clock,
  }: NodeDeps,
): NodeWorld {
  return {
    node,
    gameNode: cluster.gameNodes.get(name),
    // The plan includes a new node only once it has a GameNode.
    pinned: [],
    fillDeadlineMs,
    hasHeartbeat: heartbeats.isFresh(name),
    health: nodeLosses.healthOf(name),
    used: loads.on(name).slots,
    offered: node && offeredBy(node, otherRequests.on(name)),
    overhead: podOverhead,
    hasPendingSave: hasPendingSave(cluster, name),
    takenPorts: otherRequests.udpPortsOn(name),
    rules,
    now: clock.now(),
  };
}

async function removeGameNode(
  gameNode: Stored<GameNode>,
  { gameNodes, heartbeats, throttle }: NodeDeps,
  signal: AbortSignal,
): Promise<void> {
  heartbeats.forget(gameNode.metadata.name);
  throttle.forget(gameNode.metadata.name);
  await gameNodes.delete(gameNode.metadata, { uid: gameNode.metadata.uid, signal }).catch(ignoreDeleted);
}

/**
 * Checks with the API server whether a node with an agent has sessions or saves that the cache does not show,
 * because they would be lost without the agent. Results are added to the cache, which triggers the next
 * pass.
 */
async function isStillNeeded(
  { metadata }: Stored<Node>,
  { cluster, gameSessions, installation: { sessionsNamespace, ...installation } }: NodeDeps,
  signal: AbortSignal,
): Promise<boolean> {
  if (metadata.labels?.[nodeAgentLabel] !== agentLabelValueOf(installation)) return false;
  const { items } = await gameSessions.listAll({
    namespace: sessionsNamespace,
    fieldSelector: `status.nodeName=${metadata.name}`,
    signal,
  });
  const needing = items.filter((session) => !isFinished(session) || isSavePending(session));
  for (const session of needing) cluster.gameSessions.upsert(session);
  return needing.length > 0;
}

/**
 * Checks with the API server for a node that has a GameNode but is missing from the cache, because its
 * sessions would end without the GameNode. The result is added to the cache as well.
 */
async function isStillThere(
  name: string,
  { cluster, nodes }: NodeDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const live = await nodes.find({ name }, { signal });
  if (live) cluster.nodes.upsert(live);
  return live !== undefined;
}

/**
 * Sets or removes the label that the node agents' DaemonSet selects by. A node that an admin has removed from
 * the game nodes keeps the label until its last session and save are gone. If the DaemonSet used the admin's
 * label instead, the agent would be removed first. Another installation's label is left alone.
 */
async function labelForAgent(
  node: Stored<Node>,
  value: string | undefined,
  { cluster, nodes, installation }: NodeDeps,
  signal: AbortSignal,
): Promise<void> {
  const { name, labels } = node.metadata;
  const current = labels?.[nodeAgentLabel];
  if (current === value || (current !== undefined && current !== agentLabelValueOf(installation))) return;
  try {
    cluster.nodes.upsert(
      await nodes.mergePatch(
        { name },
        { metadata: { labels: { [nodeAgentLabel]: value ?? null } } },
        { fieldManager: fieldManagers.operator, signal },
      ),
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/**
 * Creates the GameNode, or updates its desired content and owner. Returns it unchanged if another
 * installation created it.
 */
async function applyDesired(
  node: Stored<Node>,
  deps: NodeDeps,
  signal: AbortSignal,
): Promise<Stored<GameNode>> {
  const { cluster, gameNodes, fillPlan, installation } = deps;
  const { name } = node.metadata;
  const known = cluster.gameNodes.get(name);
  const desired = fillPlan.desiredOn(name);
  const isMarked = known?.metadata.annotations?.[sessionsNamespaceAnnotation] !== undefined;
  if (known && isMarked && isSameDesired(known.spec.desired, desired)) return known;
  const marks = ownershipMetadata(installation);
  const written = known
    ? // Uses a merge patch: applying an empty list in place of a full one makes the API server drop the whole
      // spec.
      // spec.
      await gameNodes.mergePatch(
        { name },
        { ...(isMarked ? {} : { metadata: marks }), spec: { desired } },
        { fieldManager: fieldManagers.operator, signal },
      )
    : await createOrFind(
        gameNodes,
        {
          metadata: { name, ...marks, ownerReferences: [{ ...ownedBy(node), blockOwnerDeletion: false }] },
          spec: { desired },
        },
        signal,
      );
  if (ownershipConflict(written, installation) === undefined) cluster.gameNodes.upsert(written);
  return written;
}

/** Another installation's GameNode of the same name is not in the cache. */
async function createOrFind(
  gameNodes: ResourceClient<GameNode>,
  draft: Draft<GameNode>,
  signal: AbortSignal,
): Promise<Stored<GameNode>> {
  try {
    return await gameNodes.create(draft, { fieldManager: fieldManagers.operator, signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    return gameNodes.get(draft.metadata, { signal });
  }
}

/**
 * Writes the changes. Returns the milliseconds to wait if the change is not urgent and the status was written
 * a moment ago; otherwise 0.
 */
async function reportStatus(
  world: NodeWorld & { gameNode: Stored<GameNode> },
  action: Exclude<NodeAction, "remove">,
  deps: NodeDeps,
  signal: AbortSignal,
): Promise<number> {
  const { name } = world.gameNode.metadata;
  const status = statusOf(world, action);
  const difference = differenceOf(world.gameNode, status);
  if (difference === "none") return 0;
  const waitMs = deps.throttle.waitMs(name, apartMs[difference]);
  if (waitMs > 0) return waitMs;
  const written = await writeStatus(
    deps.gameNodes,
    { metadata: { name }, status },
    { fieldManager: fieldManagers.operator, signal, cache: deps.cluster.gameNodes },
  );
  if (written) deps.throttle.written(name);
  return 0;
}
