import { gameNodeConditions, type GameNodeStatus, gameNodes } from "#contracts/crd/gameNode.ts";
import { gameSessionConditions, type GameSessionStatus, gameSessions } from "#contracts/crd/gameSession.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { events, leases, pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/**
 * Granted in the whole cluster. An admission policy limits the agent to the GameNode and the sessions of its
 * own node.
 */
export const clusterRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameNodes), verbs: ["get", "list", "watch"] },
  { ...resourcesOf(gameNodes, "status"), verbs: ["patch"] },
  // Granted here rather than in the sessions namespace: when that namespace is deleted its Roles go first,
  // and the last saves could not be reported.
  { ...resourcesOf(gameSessions), verbs: ["get", "list", "watch"] },
  { ...resourcesOf(gameSessions, "status"), verbs: ["patch"] },
  // Events of sessions are in their namespace, and events of GameNodes in the default namespace.
  { ...resourcesOf(events), verbs: ["create", "patch"] },
];

/** Granted in the sessions namespace. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameCaches), verbs: ["get"] },
  { ...resourcesOf(pods), verbs: ["get", "list", "watch"] },
];

/** Granted in the agents' namespace. An admission policy limits the agent to the Lease of its own node. */
export const nodeAgentNamespaceRules: readonly PolicyRule[] = [{ ...resourcesOf(leases), verbs: ["patch"] }];

/**
 * The parts of a status that the agent writes, enforced by an admission policy: conditions of these types,
 * and these fields.
 */
export const statusRights = {
  gamenodes: {
    conditions: gameNodeConditions.nodeAgent,
    fields: ["cache", "heartbeat"] satisfies (keyof GameNodeStatus)[],
  },
  gamesessions: {
    conditions: gameSessionConditions.nodeAgent,
    fields: ["save"] satisfies (keyof GameSessionStatus)[],
  },
} as const;

/** Granted in the release's namespace. */
export const releaseNamespaceRules: readonly PolicyRule[] = [];
