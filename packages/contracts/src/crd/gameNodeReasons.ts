/** Reasons in conditions and events of GameNodes. docs/crd shows the doc comments. */
import type { ValueOf } from "./kind.ts";

/** Reasons of the Ready condition of a GameNode. */
export const nodeReadyReasons = {
  /** `True`, set by the operator: kubelet and node agent report in time. */
  nodeAndAgentWell: "NodeAndAgentWell",
  /** `False`, set by the operator: the node is being deleted. */
  nodeDeleting: "NodeDeleting",
  /** `False`, set by the operator: the kubelet does not report the node as ready. */
  nodeNotReady: "NodeNotReady",
  /** `False`, set by the operator: the node agent has not reported in time. */
  agentSilent: "AgentSilent",
  /**
   * The node is cordoned. Appears only in `status.capacity.unschedulable` of a Ready node, not in the
   * condition.
   */
  nodeCordoned: "NodeCordoned",
  /** The node has a taint that session pods do not tolerate. Only in `status.capacity.unschedulable`. */
  nodeTainted: "NodeTainted",
  /**
   * The node lacks a label that session pods select (`sessions.pods.nodeSelector`). Appears only in
   * `status.capacity.unschedulable`.
   */
  nodeNotSelected: "NodeNotSelected",
  /** `False`, set by the operator: the cause is unknown. */
  unknown: "Unknown",
} as const;

/** Reasons of the Draining condition of a GameNode. */
export const drainingReasons = {
  /**
   * `True`, set by the operator: the node has lost the label of game nodes. Its agent stays until its last
   * session and save are gone.
   */
  labelRemoved: "LabelRemoved",
  /** `False`, set by the operator: the node is a game node. */
  gameNode: "GameNode",
} as const;

/** Reasons of the Lost condition of a GameNode. */
export const lostReasons = {
  /**
   * `True`, set by the operator: neither kubelet nor node agent reports, and the sessions of the node were
   * ended.
   */
  silent: "Silent",
  /**
   * `Unknown`, set by the operator: neither reports, but many game nodes became silent at the same time. The
   * sessions continue.
   */
  brakeHolds: "BrakeHolds",
  /** `False`, set by the operator: kubelet or node agent reports. */
  heard: "Heard",
} as const;

/**
 * Reasons of the Filled condition of a GameNode. A new node fetches its pinned games before it gets sessions
 * that another node could take.
 */
export const filledReasons = {
  /**
   * `True`, set by the operator: the node holds its pinned games, or has held them once. Games that are
   * pinned later do not keep sessions away.
   */
  pinnedGamesHeld: "PinnedGamesHeld",
  /**
   * `False`, set by the operator: the node is new and is fetching its pinned games. The message has the
   * progress.
   */
  filling: "Filling",
  /**
   * `True`, set by the operator: the pinned games did not arrive in time, and the node accepts sessions like
   * any other.
   */
  notInTime: "NotInTime",
  /** `Unknown`, set by the operator: the node agent has never reported the content of the node. */
  notReported: "NotReported",
} as const;

/**
 * Reasons of the GpuNotShared condition of a GameNode. `True` means that a chart value is required, which the
 * message names.
 */
export const gpuNotSharedReasons = {
  /** `False`, set by the operator: both containers of a session can use the GPU. */
  shared: "Shared",
  /** `False`, set by the operator: sessions use no GPU. */
  software: "SoftwareRendering",
  /** `True`, set by the operator: the node offers none of the GPU resource, so it accepts no sessions. */
  noDevices: "NoDevices",
  /**
   * `True`, set by the operator: the node offers less of the GPU resource than one session takes, so it
   * accepts no sessions.
   */
  tooFewDevices: "TooFewDevices",
  /**
   * `True`, set by the operator: only the game container has the GPU, but the streamer's display needs it
   * too. Games run, but render in software.
   */
  oneContainer: "OneContainer",
  /**
   * `True`, set by the operator: sessions claim the GPU, and the number of sessions per node is not
   * configured. The node accepts one.
   */
  slotsNotSet: "SlotsNotSet",
} as const;

/** Reasons of the StoreReachable condition of a GameNode. */
export const storeReachableReasons = {
  /** `True`, set by the node agent: the object store responds. */
  answers: "Answers",
  /** `False`, set by the node agent: the object store does not respond. */
  unreachable: "Unreachable",
} as const;

/** Reasons of the DiskPressure condition of a GameNode. */
export const diskPressureReasons = {
  /** `True`, set by the node agent: a game that the node should hold does not fit. */
  insufficientSpace: "InsufficientSpace",
  /** `False`, set by the node agent: all games that the node should hold fit. */
  spaceLeft: "SpaceLeft",
} as const;

/**
 * Reasons of the ArchitectureSupported condition of a GameNode, a check that must pass before the node
 * accepts sessions.
 */
export const architectureSupportedReasons = {
  /** `True`, set by the operator: games are built for the node's CPU architecture. */
  supported: "Supported",
  /** `False`, set by the operator: games are not built for the node's CPU architecture. */
  otherArchitecture: "OtherArchitecture",
  /** `Unknown`, set by the operator: the kubelet does not report the CPU architecture. */
  notReported: "NotReported",
} as const;

/**
 * Reasons of the RootExecutable condition of a GameNode, a check that must pass before the node accepts
 * sessions.
 */
export const rootExecutableReasons = {
  /** `True`, set by the node agent: a test program ran in the games folder. */
  executable: "Executable",
  /** `False`, set by the node agent: the games folder is on a file system mounted with noexec. */
  mountedNoexec: "MountedNoexec",
  /** `Unknown`, set by the node agent: the test program could not be written. */
  notTried: "NotTried",
} as const;

/**
 * Reasons of the RootWritable condition of a GameNode, a check that must pass before the node accepts
 * sessions.
 */
export const rootWritableReasons = {
  /** `True`, set by the node agent: a test file in the folder of games and saves was written and read. */
  writable: "Writable",
  /** `False`, set by the node agent: the test failed. The message has the cause. */
  notWritable: "NotWritable",
} as const;

/**
 * Reasons of the SpaceLeft condition of a GameNode, a check that must pass before the node accepts sessions.
 */
export const spaceLeftReasons = {
  /** `True`, set by the node agent: saves fit on the node's disk. */
  enoughSpace: "EnoughSpace",
  /** `False`, set by the node agent: the file system of games and saves is almost full. */
  tooLittleSpace: "TooLittleSpace",
  /** `False`, set by the node agent: the file system has space, but almost no free inodes. */
  tooFewInodes: "TooFewInodes",
} as const;

/**
 * Reasons of the ClockInStep condition of a GameNode, a check that must pass before the node accepts
 * sessions.
 */
export const clockInStepReasons = {
  /** `True`, set by the node agent: the clocks of the node and the API server agree. */
  inStep: "InStep",
  /**
   * `False`, set by the node agent: the clocks differ by more than a minute, so signatures for the object
   * store and streams are rejected.
   */
  outOfStep: "OutOfStep",
  /** `Unknown`, set by the node agent: the time of the API server is not known yet. */
  notCompared: "NotCompared",
} as const;

/**
 * Reasons of the PortsFree condition of a GameNode. A node accepts no sessions when all of its media ports
 * are in use.
 */
export const portsFreeReasons = {
  /** `True`, set by the operator: only session pods use media ports of the node. */
  free: "Free",
  /** `True`, set by the operator: other pods use some media ports. Sessions get different ones. */
  someTaken: "SomeTaken",
  /** `False`, set by the operator: other pods use all media ports. */
  allTaken: "AllTaken",
  /**
   * `Unknown`, set by the operator: it does not see other pods, because `gameNodes.countOtherPods` is false
   * or session pods have a priority class.
   */
  notCounted: "NotCounted",
} as const;

/**
 * Reasons of the Reachable condition of a GameNode, which shows whether players can be expected to reach its
 * address. It does not affect scheduling.
 */
export const reachableReasons = {
  /** `True`, set by the operator: the address is configured by annotation or `media.announceAddress`. */
  addressGiven: "AddressGiven",
  /** `True`, set by the operator: the node has a public address. */
  publicAddress: "PublicAddress",
  /** `True`, set by the operator: players connect through a relay, which reaches the node. */
  relayed: "Relayed",
  /**
   * `Unknown`, set by the operator: the node has only private addresses, which players outside the network
   * cannot reach. The message says what to do.
   */
  privateAddress: "PrivateAddress",
  /** `False`, set by the operator: the node has no address. */
  noAddress: "NoAddress",
} as const;

/** Reasons of the SessionsSetAside condition of a GameNode. */
export const sessionsSetAsideReasons = {
  /** `True`, set by the node agent: unreadable session folders were set aside for an admin. */
  unreadable: "Unreadable",
  /** `False`, set by the node agent: no session folders are set aside. */
  allRead: "AllRead",
} as const;

/** Reasons of events on a GameNode. */
export const gameNodeEventReasons = {
  /** By the operator, on the Node: the node belongs to another installation, so this one ignores it. */
  nodeTaken: "NodeTaken",
  /**
   * By the node agent: it stored the save of a session that no longer exists in the cluster. No slot may
   * refer to the save.
   */
  orphanedSave: "OrphanedSave",
  /** By the node agent: it set the unreadable folder of a session aside. */
  sessionSetAside: "SessionSetAside",
} as const;

export type NodeReadyReason = ValueOf<typeof nodeReadyReasons>;
