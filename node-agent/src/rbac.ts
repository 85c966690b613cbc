import { gameNodeConditions, type GameNodeStatus, gameNodes } from "#contracts/crd/gameNode.ts";
import { gameSessionConditions, type GameSessionStatus, gameSessions } from "#contracts/crd/gameSession.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { events, leases, pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/** Everywhere; an admission policy holds the agent to the GameNode and the sessions of its own node. */
export const clusterRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameNodes), verbs: ["get", "list", "watch"] },
  { ...resourcesOf(gameNodes, "status"), verbs: ["patch"] },
  // These rights are granted here and not in the sessions' namespace: when that is deleted its Roles go
  // first, and the last saves could not be reported.
  { ...resourcesOf(gameSessions), verbs: ["get", "list", "watch"] },
  { ...resourcesOf(gameSessions, "status"), verbs: ["patch"] },
  // Events of sessions are in their namespace, those of GameNodes in the default one.
  { ...resourcesOf(events), verbs: ["create", "patch"] },
];

/** In the sessions' namespace. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameCaches), verbs: ["get"] },
  { ...resourcesOf(pods), verbs: ["get", "list", "watch"] },
];

/** In the agents' own namespace; an admission policy holds the agent to the Lease of its own node. */
export const nodeAgentNamespaceRules: readonly PolicyRule[] = [{ ...resourcesOf(leases), verbs: ["patch"] }];

/**
 * What the agent writes of a status, where an admission policy holds it to this: conditions of its types, and
 * these fields.
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

/** In the namespace of the release. */
export const releaseNamespaceRules: readonly PolicyRule[] = [];
