import { group } from "./kind.ts";

/**
 * Finalizers, each of which keeps an object until its part is done. The API sets `recorder` when it creates a
 * GameSession; the operator adds `operator` only to sessions without it.
 */
export const finalizers = {
  /** Held by the API until the session's result is in the database. */
  recorder: `${group}/recorder`,
  /** Held by the operator on sessions that were not made by the API. */
  operator: `${group}/operator`,
  /** On session pods, until their termination messages are in the session's status. */
  usage: `${group}/usage`,
  /** On GameCaches, until no node is asked to hold them. */
  cache: `${group}/cache`,
} as const;

/** Field managers of server-side apply: one per writer. */
export const fieldManagers = {
  api: "joypod-api",
  operator: "joypod-operator",
  nodeAgent: "joypod-node-agent",
  kubectl: "kubectl-joypod",
} as const;

/** Leases, in the release's namespace, by which one process of a program leads. */
export const leaderLeases = { api: "joypod-api", operator: "joypod-operator" } as const;

/** Who reports an event, by its program: `reportingController`. */
export const eventControllers = { operator: `${group}/operator`, nodeAgent: `${group}/node-agent` } as const;

/** Labels on pods, beside the conventional app.kubernetes.io ones. */
export const labels = {
  gameSession: `${group}/game-session`,
  game: `${group}/game`,
  /** `internet` on session pods that may open connections: what a NetworkPolicy lets out. */
  network: `${group}/network`,
  /** On the operator's probe pods, with their role. */
  networkProbe: `${group}/network-probe`,
} as const;

/**
 * Label that the operator keeps on game nodes, and on former ones until their last session and save are gone:
 * the node agents' DaemonSet selects by it.
 */
export const nodeAgentLabel = `${group}/node-agent`;

/**
 * GameSession annotation: until when a keepalive has kept it alive that the database could not take. The API
 * alone reads it.
 */
export const keptAliveUntilAnnotation = `${group}/kept-alive-until`;

/**
 * Label of the Leases in which node agents renew their heartbeats, in the agents' namespace; each has its
 * node's name. Its value is that of the label of agents' nodes.
 */
export const heartbeatLabel = `${group}/heartbeat`;

/** Node annotation that overrides the address announced to browsers. */
export const announceAddressAnnotation = `${group}/announce-address`;
