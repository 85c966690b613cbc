/** Reasons in conditions and events of GameNodes. docs/crd shows the doc comments. */
import type { ValueOf } from "./kind.ts";

/** Condition Ready of a GameNode. */
export const nodeReadyReasons = {
  /** `True`, by the operator: kubelet and node agent report in time. */
  nodeAndAgentWell: "NodeAndAgentWell",
  /** `False`, by the operator: the node is being deleted. */
  nodeDeleting: "NodeDeleting",
  /** `False`, by the operator: the kubelet does not report the node as ready. */
  nodeNotReady: "NodeNotReady",
  /** `False`, by the operator: the node agent has not reported in time. */
  agentSilent: "AgentSilent",
  /**
   * Why `status.capacity.schedulable` is false on a node that is Ready: it is cordoned. Not written into the
   * condition.
   */
  nodeCordoned: "NodeCordoned",
  /** The same, of a node with a taint that session pods do not tolerate. */
  nodeTainted: "NodeTainted",
  /** The same, of a node without a label that session pods ask for (`sessions.pods.nodeSelector`). */
  nodeNotSelected: "NodeNotSelected",
  /** `False`, by the operator: the cause is not known. */
  unknown: "Unknown",
} as const;

/** Condition Draining of a GameNode. */
export const drainingReasons = {
  /**
   * `True`, by the operator: the node has lost the label of game nodes. Its agent stays until the last
   * session and its save are gone.
   */
  labelRemoved: "LabelRemoved",
  /** `False`, by the operator: the node is a game node. */
  gameNode: "GameNode",
} as const;

/** Condition Lost of a GameNode. */
export const lostReasons = {
  /** `True`, by the operator: neither kubelet nor node agent has been heard, and its sessions were ended. */
  silent: "Silent",
  /**
   * `Unknown`, by the operator: neither has been heard, but many game nodes fell silent together; its
   * sessions go on.
   */
  brakeHolds: "BrakeHolds",
  /** `False`, by the operator: kubelet or node agent is heard. */
  heard: "Heard",
} as const;

/**
 * Condition Filled of a GameNode: a new node gets the games that are pinned there before it takes sessions
 * that another node could take.
 */
export const filledReasons = {
  /**
   * `True`, by the operator: the node holds the pinned games that it is to hold, or did once: those that come
   * later keep no session away.
   */
  pinnedGamesHeld: "PinnedGamesHeld",
  /**
   * `False`, by the operator: the node is new, and pinned games are on their way; the message says how far
   * they are.
   */
  filling: "Filling",
  /** `True`, by the operator: they did not come in time, and the node takes sessions as any other. */
  notInTime: "NotInTime",
  /** `Unknown`, by the operator: the node agent has never reported what is there. */
  notReported: "NotReported",
} as const;

/**
 * Condition GpuNotShared of a GameNode: `True` where a value of the chart is needed, which the message names.
 */
export const gpuNotSharedReasons = {
  /** `False`, by the operator: both containers of a session reach the GPU. */
  shared: "Shared",
  /** `False`, by the operator: sessions take no GPU. */
  software: "SoftwareRendering",
  /**
   * `True`, by the operator: the node offers none of the resource that a session takes, so it takes no
   * session.
   */
  noDevices: "NoDevices",
  /**
   * `True`, by the operator: the node offers less of the resource than one session takes, so it takes no
   * session.
   */
  tooFewDevices: "TooFewDevices",
  /**
   * `True`, by the operator: the game holds the GPU, and the streamer, whose display it draws on, has no way
   * to it: games are played, and render in software.
   */
  oneContainer: "OneContainer",
  /**
   * `True`, by the operator: sessions claim the GPU, and nobody has said how many fit on the node; it takes
   * one.
   */
  slotsNotSet: "SlotsNotSet",
} as const;

/** Condition StoreReachable of a GameNode. */
export const storeReachableReasons = {
  /** `True`, by the node agent: the object store answers. */
  answers: "Answers",
  /** `False`, by the node agent: it does not. */
  unreachable: "Unreachable",
} as const;

/** Condition DiskPressure of a GameNode. */
export const diskPressureReasons = {
  /** `True`, by the node agent: a wanted game does not fit on the node. */
  insufficientSpace: "InsufficientSpace",
  /** `False`, by the node agent: all wanted games fit. */
  spaceLeft: "SpaceLeft",
} as const;

/**
 * Condition ArchitectureSupported of a GameNode; one of the checks that hold before the node takes sessions.
 */
export const architectureSupportedReasons = {
  /** `True`, by the operator: the node's processors are those that games are made for. */
  supported: "Supported",
  /** `False`, by the operator: they are others, so no game would start. */
  otherArchitecture: "OtherArchitecture",
  /** `Unknown`, by the operator: the kubelet does not say which they are. */
  notReported: "NotReported",
} as const;

/** Condition RootExecutable of a GameNode; one of the checks that hold before the node takes sessions. */
export const rootExecutableReasons = {
  /** `True`, by the node agent: a program in the folder of games was started. */
  executable: "Executable",
  /** `False`, by the node agent: the folder is on a file system that is mounted noexec. */
  mountedNoexec: "MountedNoexec",
  /** `Unknown`, by the node agent: no program could be put there to be tried. */
  notTried: "NotTried",
} as const;

/** Condition RootWritable of a GameNode; one of the checks that hold before the node takes sessions. */
export const rootWritableReasons = {
  /** `True`, by the node agent: a file in the folder of games and saves was written and read. */
  writable: "Writable",
  /** `False`, by the node agent: it could not be; the message has the cause. */
  notWritable: "NotWritable",
} as const;

/** Condition SpaceLeft of a GameNode; one of the checks that hold before the node takes sessions. */
export const spaceLeftReasons = {
  /** `True`, by the node agent: saves fit on the node's disk. */
  enoughSpace: "EnoughSpace",
  /** `False`, by the node agent: the file system of games and saves is all but full. */
  tooLittleSpace: "TooLittleSpace",
  /**
   * `False`, by the node agent: it has room for bytes, but all but no inodes, so that no more files can be
   * made.
   */
  tooFewInodes: "TooFewInodes",
} as const;

/** Condition ClockInStep of a GameNode; one of the checks that hold before the node takes sessions. */
export const clockInStepReasons = {
  /** `True`, by the node agent: the node's clock and the API server's agree. */
  inStep: "InStep",
  /**
   * `False`, by the node agent: they differ by more than a minute; the object store and streams refuse what
   * is signed then.
   */
  outOfStep: "OutOfStep",
  /** `Unknown`, by the node agent: the API server has not told the time yet. */
  notCompared: "NotCompared",
} as const;

/** Condition PortsFree of a GameNode: the node takes no sessions when all of its media ports are taken. */
export const portsFreeReasons = {
  /** `True`, by the operator: no pod but sessions' takes a media port of the node. */
  free: "Free",
  /** `True`, by the operator: other pods take some of the media ports; sessions get others. */
  someTaken: "SomeTaken",
  /** `False`, by the operator: other pods take all of them. */
  allTaken: "AllTaken",
  /**
   * `Unknown`, by the operator: it does not see other pods, as `gameNodes.countOtherPods` is false, or
   * session pods have a priority class.
   */
  notCounted: "NotCounted",
} as const;

/**
 * Condition Reachable of a GameNode: whether it has an address that players can be expected to reach. It
 * keeps no session off the node.
 */
export const reachableReasons = {
  /**
   * `True`, by the operator: an admin has said where players reach it, by an annotation or
   * `media.announceAddress`.
   */
  addressGiven: "AddressGiven",
  /** `True`, by the operator: the node has a public address. */
  publicAddress: "PublicAddress",
  /** `True`, by the operator: players come through a relay, which reaches the node. */
  relayed: "Relayed",
  /**
   * `Unknown`, by the operator: all its addresses are private, so that only players of the same network reach
   * it; the message says what to do for others.
   */
  privateAddress: "PrivateAddress",
  /** `False`, by the operator: it has no address at all. */
  noAddress: "NoAddress",
} as const;

/** Condition SessionsSetAside of a GameNode. */
export const sessionsSetAsideReasons = {
  /** `True`, by the node agent: session folders that cannot be read are set aside for an admin. */
  unreadable: "Unreadable",
  /** `False`, by the node agent: there are none. */
  allRead: "AllRead",
} as const;

/** Events on a GameNode. */
export const gameNodeEventReasons = {
  /**
   * By the operator, on the Node: another installation has it as a game node, so that this one leaves it
   * alone.
   */
  nodeTaken: "NodeTaken",
  /**
   * By the node agent: it has stored the save of a session that is gone from the cluster; no slot may point
   * to it.
   */
  orphanedSave: "OrphanedSave",
  /** By the node agent: it has set a session's folder aside, which cannot be read. */
  sessionSetAside: "SessionSetAside",
} as const;

export type NodeReadyReason = ValueOf<typeof nodeReadyReasons>;
