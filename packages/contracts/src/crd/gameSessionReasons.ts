/**
 * Reasons in conditions, failures and events of GameSessions. docs/crd shows the doc comments. Alerts match
 * on reasons, so existing ones are never renamed.
 */
import type { ValueOf } from "./kind.ts";

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
