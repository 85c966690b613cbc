import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionConditions.ts";
import type { PodResources } from "#contracts/crd/nodeShare.ts";
import { fieldManagers, nodeAgentLabel } from "#contracts/crd/names.ts";
import type { Node } from "#kube/builtin.ts";
import type { Clock } from "#runtime/clock.ts";
import type { ReconcileContext, ReconcileResult } from "#kube/controller.ts";
import { isConflict, isNotFound } from "#kube/errors.ts";
import { isDeleting } from "#kube/finalizers.ts";
import { ownedBy, type Stored } from "#kube/object.ts";
import type { ResourceClient } from "#kube/resourceClient.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { Heartbeats } from "../../nodes/nodeHealth.ts";
import type { Throttle } from "../../throttle.ts";
import type { FillPlan } from "../../content/fillPlan.ts";
import type { NodeLosses } from "../../nodes/nodeLosses.ts";
import type { NodeLoads } from "../../nodes/nodeLoads.ts";
import { offeredBy, type OtherRequests } from "../../nodes/nodeRoom.ts";
import { hasPendingSave } from "../../nodes/occupancy.ts";
import { differenceOf, isSameDesired, nodeActionFor, statusOf, type NodeAction, type NodeWorld } from "./decide.ts";
import type { CheckRules } from "../../nodes/nodeChecks.ts";
import type { SlotRules } from "../../nodes/slots.ts";

/** What the node controller works with. */
export interface NodeDeps {
  cluster: Cluster;
  gameNodes: ResourceClient<GameNode>;
  nodes: ResourceClient<Node>;
  gameSessions: ResourceClient<GameSession>;
  sessionsNamespace: string;
  heartbeats: Heartbeats;
  nodeLosses: NodeLosses;
  fillPlan: FillPlan;
  rules: SlotRules & CheckRules;
  loads: NodeLoads;
  otherRequests: OtherRequests;
  podOverhead: PodResources;
  clock: Clock;
  /** Spaces writes that only count sessions. */
  usedThrottle: Throttle;
}

/** A node that is silent is looked at again at least this often: whether it counts as lost depends on the others. */
const silentRetryMs = 5_000;

/** Returns a reconcile that keeps one GameNode per game node: what it shall hold, its slots, whether it takes sessions, and whether it has an agent. */
export function createNodeReconciler(deps: NodeDeps) {
  return async (name: string, { signal, logger }: ReconcileContext): Promise<ReconcileResult | undefined> => {
    const node = deps.cluster.nodes.get(name);
    const world = observe(name, node, deps);
    const action = nodeActionFor(world);
    if (action === "remove" || !node) {
      if (node && await isStillNeeded(node, deps, signal)) return undefined;
      const gameNode = deps.cluster.gameNodes.get(name);
      if (gameNode && !isDeleting(gameNode)) {
        await removeGameNode(gameNode, deps, signal);
        logger.info({ node: name }, "A node is no game node any more.");
      }
      if (node) await labelForAgent(node, undefined, deps, signal);
      return undefined;
    }
    const gameNode = await applyDesired(node, deps, signal);
    const waitMs = await reportStatus({ ...world, gameNode }, action, deps, signal);
    await labelForAgent(node, "true", deps, signal);
    const silentMs = deps.nodeLosses.isSilent(name) ? silentRetryMs : 0;
    return requeue([waitMs, deps.heartbeats.staleInMs(name), silentMs]);
  };
}

function observe(name: string, node: Node | undefined, { cluster, heartbeats, nodeLosses, loads, otherRequests, podOverhead, rules, clock }: NodeDeps): NodeWorld {
  return {
    node,
    gameNode: cluster.gameNodes.get(name),
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

async function removeGameNode(gameNode: Stored<GameNode>, { gameNodes, heartbeats, usedThrottle }: NodeDeps, signal: AbortSignal): Promise<void> {
  heartbeats.forget(gameNode.metadata.name);
  usedThrottle.forget(gameNode.metadata.name);
  await gameNodes.delete(gameNode.metadata, { uid: gameNode.metadata.uid, signal }).catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}

/**
 * Asks the API server whether a node with an agent has sessions or saves that the cache does not show: without its agent they would be lost.
 * What is found goes into the cache, which brings the next pass.
 */
async function isStillNeeded({ metadata }: Stored<Node>, { cluster, gameSessions, sessionsNamespace }: NodeDeps, signal: AbortSignal): Promise<boolean> {
  if (metadata.labels?.[nodeAgentLabel] === undefined) return false;
  const { items } = await gameSessions.listAll({ namespace: sessionsNamespace, fieldSelector: `status.nodeName=${metadata.name}`, signal });
  const needing = items.filter((session) => !isFinished(session) || isSavePending(session));
  for (const session of needing) cluster.gameSessions.upsert(session);
  return needing.length > 0;
}

/**
 * Sets the label that the node agents' DaemonSet selects by, or takes it off. A node that an admin makes no game node any more keeps it until its
 * last session and save are gone: by the admin's own label alone the agent would go first.
 */
async function labelForAgent(node: Stored<Node>, value: "true" | undefined, { cluster, nodes }: NodeDeps, signal: AbortSignal): Promise<void> {
  const { name, labels } = node.metadata;
  if (labels?.[nodeAgentLabel] === value) return;
  try {
    cluster.nodes.upsert(await nodes.mergePatch({ name }, { metadata: { labels: { [nodeAgentLabel]: value ?? null } } }, { fieldManager: fieldManagers.operator, signal }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Creates the GameNode, or changes what it shall hold. */
async function applyDesired(node: Stored<Node>, deps: NodeDeps, signal: AbortSignal): Promise<Stored<GameNode>> {
  const { cluster, gameNodes, fillPlan } = deps;
  const { name } = node.metadata;
  const known = cluster.gameNodes.get(name);
  const desired = fillPlan.desiredOn(name);
  if (known && isSameDesired(known.spec.desired, desired)) return known;
  const written = known
    // This is no apply: to apply an empty list in place of a full one makes the API server drop the whole spec.
    ? await gameNodes.mergePatch({ name }, { spec: { desired } }, { fieldManager: fieldManagers.operator, signal })
    : await gameNodes.create({
      metadata: { name, ownerReferences: [{ ...ownedBy(node), blockOwnerDeletion: false }] }, spec: { desired },
    }, { fieldManager: fieldManagers.operator, signal });
  cluster.gameNodes.upsert(written);
  return written;
}

/** Writes what changed; returns the milliseconds to wait when only the count changed and was written a moment ago. */
async function reportStatus(world: NodeWorld & { gameNode: Stored<GameNode> }, action: Exclude<NodeAction, "remove">, deps: NodeDeps, signal: AbortSignal): Promise<number> {
  const { name } = world.gameNode.metadata;
  const status = statusOf(world, action);
  const difference = differenceOf(world.gameNode, status);
  if (difference === "none") return 0;
  const waitMs = difference === "used" ? deps.usedThrottle.waitMs(name) : 0;
  if (waitMs > 0) return waitMs;
  try {
    const written = await deps.gameNodes.applyStatus({ metadata: { name }, status }, { fieldManager: fieldManagers.operator, signal });
    deps.cluster.gameNodes.upsert(written);
    deps.usedThrottle.written(name);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return 0;
}

function requeue(waits: readonly number[]): ReconcileResult | undefined {
  const due = waits.filter((wait) => wait > 0);
  return due.length === 0 ? undefined : { requeueAfterMs: Math.min(...due) };
}
