import { group } from "./kind.ts";

/**
 * Finalizers. Each keeps an object until a task is done. The API sets `recorder` when it creates a
 * GameSession; the operator adds `operator` only to sessions without it.
 */
export const finalizers = {
  /** Removed by the API once the session's result is in the database. */
  recorder: `${group}/recorder`,
  /** Removed by the operator, on sessions that the API did not create. */
  operator: `${group}/operator`,
  /** On session pods until their termination messages are in the session's status. */
  usage: `${group}/usage`,
  /** On GameCaches until no node is asked to store them. */
  cache: `${group}/cache`,
} as const;

/** Field managers for server-side apply, one per writer. */
export const fieldManagers = {
  api: "joypod-api",
  operator: "joypod-operator",
  nodeAgent: "joypod-node-agent",
  kubectl: "kubectl-joypod",
} as const;

/** Leader election Leases in the release's namespace. */
export const leaderLeases = { api: "joypod-api", operator: "joypod-operator" } as const;

/** The `reportingController` of events, by program. */
export const eventControllers = { operator: `${group}/operator`, nodeAgent: `${group}/node-agent` } as const;

/** Labels on pods, in addition to the recommended app.kubernetes.io labels. */
export const labels = {
  gameSession: `${group}/game-session`,
  game: `${group}/game`,
  /** `internet` on session pods with internet access. A NetworkPolicy selects it. */
  network: `${group}/network`,
  /** On the operator's probe pods, with their role as the value. */
  networkProbe: `${group}/network-probe`,
} as const;

/**
 * Label that selects nodes for the node agents' DaemonSet. The operator sets it on game nodes, and keeps it
 * on former ones until their last session and save are gone.
 */
export const nodeAgentLabel = `${group}/node-agent`;

/**
 * GameSession annotation with the time until which a keepalive extended the session while the database was
 * unavailable. Only the API reads it.
 */
export const keptAliveUntilAnnotation = `${group}/kept-alive-until`;

/**
 * Label of the node agents' heartbeat Leases, in the agents' namespace. Each Lease has its node's name. The
 * value is the same as that of the node agent label.
 */
export const heartbeatLabel = `${group}/heartbeat`;

/** Node annotation that overrides the address announced to browsers. */
export const announceAddressAnnotation = `${group}/announce-address`;
