/**
 * Every reason that a program of Joypod writes into a condition, a failure or an event, or matches in one.
 * The comments are part of the documentation: docs/crd takes them over. Admins match reasons in alerts, so
 * none is renamed.
 */

type ValueOf<T> = T[keyof T];

/** Condition Scheduled of a GameSession. */
export const scheduledReasons = {
  /** `True`, by the operator: the session has a node and a media port there. */
  nodeAssigned: "NodeAssigned",
  /** `False`, by the operator: no game node takes sessions. */
  noGameNodes: "NoGameNodes",
  /** `False`, by the operator: all slots of all game nodes are taken. */
  noCapacity: "NoCapacity",
  /**
   * `False`, by the operator: game nodes have free slots, but none has the memory and processors left that
   * the session's pod requests.
   */
  insufficientResources: "InsufficientResources",
  /** `False`, by the operator: all media ports of the game nodes that have room are taken. */
  noFreePort: "NoFreePort",
} as const;

/** Condition PodReady of a GameSession. */
export const podReadyReasons = {
  /** `True`, by the operator: streamer and game run. */
  containersReady: "ContainersReady",
  /** `False`, by the operator: the pod was ready before, and is not any more. */
  containersNotReady: "ContainersNotReady",
  /**
   * `False`, by the operator, and the event: the API server does not make the pod, because of a quota, a
   * policy, a runtime class that is not there, or an admission webhook that does not respond; the message has
   * its words. It is tried again until the start deadline.
   */
  failedCreate: "FailedCreate",
} as const;

/** Condition StreamReady of a GameSession. */
export const streamReadyReasons = {
  /** `True`, by the operator: the streamer takes viewers. */
  streamerReady: "StreamerReady",
  /** `False`, by the operator: the streamer took viewers before, and does not any more. */
  streamerNotReady: "StreamerNotReady",
} as const;

/** Condition Ready of a GameSession. */
export const readyReasons = {
  /** `True`, by the operator: the game can be played. */
  streaming: "Streaming",
  /** `False`, by the operator: the game could be played before, and cannot for now. */
  interrupted: "Interrupted",
  /** `False`, by the operator: the session is being stopped. */
  stopping: "Stopping",
} as const;

/**
 * Condition Accelerated of a GameSession, which only a session has that was to have a GPU, and the event when
 * it is `False`.
 */
export const acceleratedReasons = {
  /** `True`, by the operator: the GPU renders, as `status.stream.renderer` says. */
  rendersOnGpu: "RendersOnGpu",
  /**
   * `False`, by the operator: the streamer has no render node, /dev/dri/renderD*; the session renders in
   * software.
   */
  noRenderNode: "NoRenderNode",
  /** `False`, by the operator: the accelerated display did not start; the session renders in software. */
  displayFailed: "DisplayFailed",
  /** `False`, by the operator: there is a render node, and yet OpenGL renders in software. */
  softwareRenderer: "SoftwareRenderer",
  /**
   * `False`, by the operator: what was drawn with OpenGL or Vulkan was not captured right; the session
   * renders in software.
   */
  probeFailed: "ProbeFailed",
} as const;

/** Condition ContentReady of a GameSession. */
export const contentReasons = {
  /** `True`, by the node agent: the game's files are unpacked on the node. */
  unpacked: "Unpacked",
  /** `False`, by the node agent: the archive is being fetched from the object store. */
  downloading: "Downloading",
  /** `False`, by the node agent: the GameCache names no archive with the session's digest. */
  sourceUnknown: "SourceUnknown",
  /** `False`, by the node agent: the object store does not have the archive. */
  sourceMissing: "SourceMissing",
  /** `False`, by the node agent: the object store cannot be reached, or has no such bucket. */
  storeUnreachable: "StoreUnreachable",
  /** `False`, by the node agent: what was fetched does not have the archive's SHA-256. */
  checksumMismatch: "ChecksumMismatch",
  /** `False`, by the node agent: the archive breaks the rules of archives. */
  archiveRefused: "ArchiveRefused",
  /** `False`, by the node agent: the archive has no launcher or no engine directory at its root. */
  archiveIncomplete: "ArchiveIncomplete",
  /**
   * `False`, by the node agent: the game, or what the session itself keeps there, does not fit on the node.
   */
  insufficientSpace: "InsufficientSpace",
  /** `False`, by the node agent: the download failed in another way; it is tried again. */
  downloadFailed: "DownloadFailed",
} as const;

/** Condition SaveRestored of a GameSession. */
export const restoreReasons = {
  /** `True`, by the node agent: the slot's save is in the save directory. */
  restored: "Restored",
  /** `True`, by the node agent: the slot has no save yet. */
  newPlaythrough: "NewPlaythrough",
  /** `Unknown`, by the node agent: the save is on the node, and the pod has yet to restore it. */
  restoring: "Restoring",
  /** `False`, by the node agent: the object store cannot be reached, or has no such bucket. */
  storeUnreachable: "StoreUnreachable",
  /** `False`, by the node agent: the object store refuses to return the save. */
  storeRefused: "StoreRefused",
  /** `False`, by the node agent: the object store does not have the save. */
  saveMissing: "SaveMissing",
  /** `False`, by the node agent: what was fetched does not have the save's SHA-256. */
  checksumMismatch: "ChecksumMismatch",
  /**
   * `False`, by the node agent: the packer refused the save, for example because its archive breaks the
   * rules.
   */
  saveRefused: "SaveRefused",
  /** `False`, by the node agent: the save does not fit into the session's save volume. */
  saveVolumeFull: "SaveVolumeFull",
} as const;

/**
 * What the packer tells the node agent when it cannot restore a save. All but SaveVolumeFull become
 * SaveRefused in condition SaveRestored.
 */
export const packerRestoreReasons = {
  /** The save to restore does not have its size or SHA-256. */
  checksumMismatch: "ChecksumMismatch",
  /** The archive of the save breaks the rules of archives. */
  saveRefused: "SaveRefused",
  /** The save does not fit into the save volume. */
  saveVolumeFull: "SaveVolumeFull",
  /** The save volume holds saves that no packer restored. */
  saveVolumeInUse: "SaveVolumeInUse",
  /** The save directory could not be made, or the save not unpacked into it. */
  restoreFailed: "RestoreFailed",
} as const;

/**
 * Condition SavePersisted of a GameSession, from good to bad. `True` with any of them means that the node
 * agent has done what can be done and the session need not wait; what is lost, and what the player is told of
 * it, follows from the reason.
 */
export const saveReasons = {
  /** `True`, by the node agent: the last save is in the object store. */
  stored: "Stored",
  /** `True`, by the node agent: the game left the restored save as it was. */
  unchanged: "Unchanged",
  /**
   * `True`, by the node agent: there is nothing to store, as the game wrote no save or never started.
   * `False`, while the game is played: its player asked for a save, and the game has written none yet.
   */
  nothingToSave: "NothingToSave",
  /**
   * `True`, by the node agent: the pod ended without packing its last save, as at an eviction or a reboot;
   * the newest pack before that is stored.
   */
  lastAutosave: "LastAutosave",
  /** The packer found the save directory over the limits of a save; the newest pack before that is kept. */
  saveTooLarge: "SaveTooLarge",
  /** The packer found no save directory, or something else in its place. */
  saveMissing: "SaveMissing",
  /** The node's disk was full when the save was packed; the newest pack before that is kept. */
  spoolFull: "SpoolFull",
  /** The node's disk failed when the save was packed; the newest pack before that is kept. */
  spoolFailed: "SpoolFailed",
  /**
   * The packer cannot read the save directory: the game has closed it, or the node lacks memory or open
   * files.
   */
  saveUnreadable: "SaveUnreadable",
  /**
   * The node agent found a pack that is not what its manifest says, is gone, or breaks the rules of archives,
   * or a disk that does not return what the packer wrote; what the session left on the node is set aside.
   */
  spoolUnreadable: "SpoolUnreadable",
  /** `False`, by the node agent: the game is played, and its newest pack is stored. */
  playing: "Playing",
  /** `False`, by the node agent: the object store cannot be reached, or has no such bucket. */
  storeUnreachable: "StoreUnreachable",
  /** `False`, by the node agent: the object store refuses the save. */
  storeRefused: "StoreRefused",
  /** `False`, by the node agent: storing failed in another way; it is tried again. */
  saveFailed: "SaveFailed",
} as const;

/**
 * Returns the reason of the event that tells a save's outcome: `Save` and the reason of SavePersisted, such
 * as SaveStored or SaveTooLarge.
 */
export function saveEventReason(reason: string): string {
  return reason.startsWith("Save") ? reason : `Save${reason}`;
}

/** Conditions of a GameSession that nobody has come to yet, or that are over. */
export const unsetReasons = {
  /** `Unknown`, by the operator: the session has not come so far. */
  pending: "Pending",
  /**
   * `Unknown`, by the operator in the node agent's place: the agent of the session's node has not reported
   * yet.
   */
  nodeAgentSilent: "NodeAgentSilent",
  /** `Unknown`, by the node agent: it has not come so far. */
  notYet: "NotYet",
  /** `False`, by the operator, in PodReady and StreamReady: the session is over. Ready is there no more. */
  finished: "Finished",
} as const;

/** `spec.stopReason` and `status.stopReason` of a GameSession: why it ends. */
export const stopReasons = {
  /** By the API: the player ended it. A stop that gives no reason counts as one. */
  userRequested: "UserRequested",
  /** By the API or the operator: nobody was heard of for `spec.idleTimeoutSeconds`. */
  idleTimeout: "IdleTimeout",
  /** By the API or the operator: it was played for `spec.maxDurationSeconds`. */
  maxDuration: "MaxDuration",
  /**
   * By the operator: an admin deleted the object. By the API: the database has no session of that name, as
   * after it was restored from a backup.
   */
  deleted: "Deleted",
  /** By the operator: the game ended by itself, in good order. */
  gameExited: "GameExited",
  /**
   * By the operator: its node is lost. By the API, in the database alone: the object is gone from the
   * cluster.
   */
  nodeLost: "NodeLost",
  /**
   * By the operator: `status.failure` says what failed. By the API, in the database alone: the object was
   * never created.
   */
  failed: "Failed",
} as const;

/**
 * `status.failure` of a GameSession, and with it condition Finished and the event of the end: written by the
 * operator. A session without failure has its `stopReason` in Finished. Scheduled's reasons, and those of
 * ContentReady and SaveRestored that waiting does not cure, become failures as they are.
 */
export const failureReasons = {
  /** The game needs the internet, which no game gets here. */
  networkNotAllowed: "NetworkNotAllowed",
  /** The game needs the internet, and the cluster was not found to enforce NetworkPolicies. */
  networkNotEnforced: "NetworkNotEnforced",
  /** The game's files or the save were not ready in time on any node that was tried. */
  downloadTimedOut: "DownloadTimedOut",
  /** The pod was not ready in time. */
  startTimedOut: "StartTimedOut",
  /** No node has room for the pod. */
  podRefused: "PodRefused",
  /** The kubelet refused the pod, on the last node that was tried. */
  podRejected: "PodRejected",
  /** The cluster evicted or preempted the pod. */
  podEvicted: "PodEvicted",
  /** Somebody deleted the pod. */
  podDeleted: "PodDeleted",
  /** The pod is gone, and nothing says why. */
  podLost: "PodLost",
  /** Neither the node's kubelet nor its agent reports any more. */
  nodeLost: "NodeLost",
  /** The game used more memory than it may. */
  outOfMemory: "OutOfMemory",
  /** The streamer failed. */
  streamerFailed: "StreamerFailed",
  /** The game ended with an error. */
  gameCrashed: "GameCrashed",
  /** The game ended in good order, before its stream was ready. */
  gameEndedEarly: "GameEndedEarly",
  /**
   * The last save could not be stored in time. The node keeps it until that is possible, which condition
   * SavePersisted then says.
   */
  saveNotStored: "SaveNotStored",
} as const;

/** Failures that only the API's database has, as there is no GameSession: written by the API. */
export const recordedFailureReasons = {
  /** The GameSession was never created. */
  launchFailed: "LaunchFailed",
  /** The GameSession was removed from the cluster by force, or lost by it. */
  vanished: "Vanished",
} as const;

/**
 * Events on a GameSession, beside those that have the reason of a condition, of a failure or of a stop. The
 * node agent's event of the last save is `Save` and the reason of SavePersisted, such as SaveStored or
 * SaveTooLarge.
 */
export const gameSessionEventReasons = {
  /** By the operator: the session was placed on a node. */
  scheduled: "Scheduled",
  /** By the operator: the session moves to another node. */
  moved: "Moved",
  /** By the operator: the media port is taken on the node, and another one is tried. */
  portTaken: "PortTaken",
  /** By the operator: the session's pod was created. */
  podCreated: "PodCreated",
  /** By the operator: somebody edited the status, and the pod that runs was found and put into it again. */
  podAdopted: "PodAdopted",
  /** By the operator: the game can be played. */
  ready: "Ready",
  /** By the operator: the session is over. */
  finished: "Finished",
  /** By the node agent: the game's files and the save are ready. */
  prepared: "Prepared",
} as const;

/** Condition Ready of a GameCache, and the event when it changes. */
export const cacheReadyReasons = {
  /** `True`, by the operator: every wanted node holds the current version. */
  allNodesCached: "AllNodesCached",
  /** `True`, by the operator: the policy is OnDemand, and no node holds the game. */
  onDemand: "OnDemand",
  /** `False`, by the operator: some nodes have yet to fetch the current version. */
  filling: "Filling",
  /** `False`, by the operator: some nodes could not fetch it. */
  nodesFailed: "NodesFailed",
  /** `False`, by the operator: no game node matches the placement. */
  noGameNodes: "NoGameNodes",
} as const;

/** Condition Progressing of a GameCache. */
export const cacheProgressReasons = {
  /** `True`, by the operator: nodes fetch the current version, or wait for their turn. */
  filling: "Filling",
  /** `False`, by the operator: `spec.suspend` is set. */
  suspended: "Suspended",
  /** `False`, by the operator: some nodes could not fetch it. */
  nodesFailed: "NodesFailed",
  /** `False`, by the operator: there is nothing left to fetch. */
  settled: "Settled",
} as const;

/** Condition Stalled of a GameCache, which tools that wait for objects read as a failure. */
export const cacheStalledReasons = {
  /**
   * `True`, by the operator: some nodes could not fetch the current version, no other node fetches it, and
   * `spec.suspend` is not set. The failed ones try again by themselves.
   */
  nodesFailed: "NodesFailed",
  /**
   * `False`, by the operator: nodes hold the version, fetch it, or wait for their turn, or `spec.suspend` is
   * set.
   */
  noFailure: "NoFailure",
} as const;

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

export type ScheduledReason = ValueOf<typeof scheduledReasons>;
export type ContentReason = ValueOf<typeof contentReasons>;
export type RestoreReason = ValueOf<typeof restoreReasons>;
export type PodReadyReason = ValueOf<typeof podReadyReasons>;
export type StreamReadyReason = ValueOf<typeof streamReadyReasons>;
export type AcceleratedReason = ValueOf<typeof acceleratedReasons>;
export type ReadyReason = ValueOf<typeof readyReasons>;
export type SaveReason = ValueOf<typeof saveReasons>;
export type UnsetReason = ValueOf<typeof unsetReasons>;
export type OwnFailureReason = ValueOf<typeof failureReasons>;
export type CacheReadyReason = ValueOf<typeof cacheReadyReasons>;
export type CacheProgressReason = ValueOf<typeof cacheProgressReasons>;
export type CacheStalledReason = ValueOf<typeof cacheStalledReasons>;
export type NodeReadyReason = ValueOf<typeof nodeReadyReasons>;
