/**
 * Reasons in conditions, failures and events of GameSessions. docs/crd shows the doc comments. Alerts match
 * on reasons, so existing ones are never renamed.
 */
import type { ValueOf } from "./kind.ts";

/** Reasons of the Scheduled condition of a GameSession. */
export const scheduledReasons = {
  /** `True`, set by the operator: the session has a node and a media port on it. */
  nodeAssigned: "NodeAssigned",
  /** `False`, set by the operator: no game node accepts sessions. */
  noGameNodes: "NoGameNodes",
  /** `False`, set by the operator: all slots of all game nodes are in use. */
  noCapacity: "NoCapacity",
  /**
   * `False`, set by the operator: game nodes have free slots, but none has enough memory and CPU left for the
   * session's pod.
   */
  insufficientResources: "InsufficientResources",
  /** `False`, set by the operator: all media ports of the game nodes with room are in use. */
  noFreePort: "NoFreePort",
} as const;

/** Reasons of the PodReady condition of a GameSession. */
export const podReadyReasons = {
  /** `True`, set by the operator: streamer and game are running. */
  containersReady: "ContainersReady",
  /** `False`, set by the operator: the pod was ready before and no longer is. */
  containersNotReady: "ContainersNotReady",
  /**
   * `False`, set by the operator, and an event: the API server refuses the pod, for example because of a
   * quota or a missing runtime class. The message has the error. Retried until the start deadline.
   */
  failedCreate: "FailedCreate",
} as const;

/** Reasons of the StreamReady condition of a GameSession. */
export const streamReadyReasons = {
  /** `True`, set by the operator: the streamer accepts viewers. */
  streamerReady: "StreamerReady",
  /** `False`, set by the operator: the streamer accepted viewers before and no longer does. */
  streamerNotReady: "StreamerNotReady",
} as const;

/** Reasons of the Ready condition of a GameSession. */
export const readyReasons = {
  /** `True`, set by the operator: the game can be played. */
  streaming: "Streaming",
  /** `False`, set by the operator: the game could be played before and currently cannot. */
  interrupted: "Interrupted",
  /** `False`, set by the operator: the session is being stopped. */
  stopping: "Stopping",
} as const;

/**
 * Reasons of the Accelerated condition of a GameSession, which only sessions that requested a GPU have, and
 * of the event when it is `False`.
 */
export const acceleratedReasons = {
  /** `True`, set by the operator: the GPU renders. `status.stream.renderer` has its name. */
  rendersOnGpu: "RendersOnGpu",
  /**
   * `False`, set by the operator: the streamer has no render node (/dev/dri/renderD*). The session renders in
   * software.
   */
  noRenderNode: "NoRenderNode",
  /** `False`, set by the operator: the accelerated display did not start. The session renders in software. */
  displayFailed: "DisplayFailed",
  /** `False`, set by the operator: OpenGL renders in software although a render node exists. */
  softwareRenderer: "SoftwareRenderer",
  /**
   * `False`, set by the operator: frames drawn with OpenGL or Vulkan were not captured correctly. The session
   * renders in software.
   */
  probeFailed: "ProbeFailed",
} as const;

/** Reasons of the ContentReady condition of a GameSession. */
export const contentReasons = {
  /** `True`, set by the node agent: the game's files are unpacked on the node. */
  unpacked: "Unpacked",
  /** `False`, set by the node agent: the archive is being downloaded from the object store. */
  downloading: "Downloading",
  /** `False`, set by the node agent: the GameCache has no archive with the session's digest. */
  sourceUnknown: "SourceUnknown",
  /** `False`, set by the node agent: the archive is missing in the object store. */
  sourceMissing: "SourceMissing",
  /** `False`, set by the node agent: the object store is unreachable, or the bucket does not exist. */
  storeUnreachable: "StoreUnreachable",
  /** `False`, set by the node agent: the downloaded file does not match the SHA-256 of the archive. */
  checksumMismatch: "ChecksumMismatch",
  /** `False`, set by the node agent: the archive violates the archive rules. */
  archiveRefused: "ArchiveRefused",
  /** `False`, set by the node agent: the archive has no launcher or no engine directory at its root. */
  archiveIncomplete: "ArchiveIncomplete",
  /** `False`, set by the node agent: the game or the session's own files do not fit on the node. */
  insufficientSpace: "InsufficientSpace",
  /** `False`, set by the node agent: the download failed for another reason and is retried. */
  downloadFailed: "DownloadFailed",
} as const;

/** Reasons of the SaveRestored condition of a GameSession. */
export const restoreReasons = {
  /** `True`, set by the node agent: the slot's save is in the save directory. */
  restored: "Restored",
  /** `True`, set by the node agent: the slot has no save yet. */
  newPlaythrough: "NewPlaythrough",
  /** `Unknown`, set by the node agent: the save is on the node, and the pod has not restored it yet. */
  restoring: "Restoring",
  /** `False`, set by the node agent: the object store is unreachable, or the bucket does not exist. */
  storeUnreachable: "StoreUnreachable",
  /** `False`, set by the node agent: the object store refuses access to the save. */
  storeRefused: "StoreRefused",
  /** `False`, set by the node agent: the save is missing in the object store. */
  saveMissing: "SaveMissing",
  /** `False`, set by the node agent: the downloaded file does not match the SHA-256 of the save. */
  checksumMismatch: "ChecksumMismatch",
  /**
   * `False`, set by the node agent: the packer refused the save, for example because its archive violates the
   * rules.
   */
  saveRefused: "SaveRefused",
  /** `False`, set by the node agent: the save does not fit into the session's save volume. */
  saveVolumeFull: "SaveVolumeFull",
} as const;

/**
 * Reasons that the packer reports to the node agent when it cannot restore a save. All except SaveVolumeFull
 * become SaveRefused in the SaveRestored condition.
 */
export const packerRestoreReasons = {
  /** The save does not match its size or SHA-256. */
  checksumMismatch: "ChecksumMismatch",
  /** The save's archive violates the archive rules. */
  saveRefused: "SaveRefused",
  /** The save does not fit into the save volume. */
  saveVolumeFull: "SaveVolumeFull",
  /** The save volume contains files that the packer did not restore. */
  saveVolumeInUse: "SaveVolumeInUse",
  /** The save directory could not be created, or the save could not be unpacked into it. */
  restoreFailed: "RestoreFailed",
} as const;

/**
 * Reasons of the SavePersisted condition of a GameSession, from best to worst. `True` with any reason means
 * that the node agent has done everything it can, and the session does not wait any longer. The reason
 * determines what is lost and what the player is told.
 */
export const saveReasons = {
  /** `True`, set by the node agent: the last save is in the object store. */
  stored: "Stored",
  /** `True`, set by the node agent: the game did not change the restored save. */
  unchanged: "Unchanged",
  /**
   * `True`, set by the node agent: the game wrote no save or never started. `False` while the game is
   * running: the player requested a save, and the game has not written one yet.
   */
  nothingToSave: "NothingToSave",
  /**
   * `True`, set by the node agent: the pod ended without packing its last save, for example at an eviction or
   * a reboot. The latest earlier pack is stored.
   */
  lastAutosave: "LastAutosave",
  /** The packer found the save directory above the size limits. The latest earlier pack is kept. */
  saveTooLarge: "SaveTooLarge",
  /** The packer found no save directory, or something else at its path. */
  saveMissing: "SaveMissing",
  /** The node's disk was full when the save was packed. The latest earlier pack is kept. */
  spoolFull: "SpoolFull",
  /** The node's disk failed when the save was packed. The latest earlier pack is kept. */
  spoolFailed: "SpoolFailed",
  /**
   * The packer cannot read the save directory, because of its permissions or because the node lacks memory or
   * file descriptors.
   */
  saveUnreadable: "SaveUnreadable",
  /**
   * The node agent found a pack that is missing, violates the archive rules or differs from its manifest or
   * from what the packer wrote. The session's files on the node are set aside.
   */
  spoolUnreadable: "SpoolUnreadable",
  /** `False`, set by the node agent: the game is running, and its latest pack is stored. */
  playing: "Playing",
  /** `False`, set by the node agent: the object store is unreachable, or the bucket does not exist. */
  storeUnreachable: "StoreUnreachable",
  /** `False`, set by the node agent: the object store refuses the save. */
  storeRefused: "StoreRefused",
  /** `False`, set by the node agent: storing failed for another reason and is retried. */
  saveFailed: "SaveFailed",
} as const;

/**
 * Returns the reason of the event that tells a save's outcome: `Save` and the reason of SavePersisted, such
 * as SaveStored or SaveTooLarge.
 */
export function saveEventReason(reason: string): string {
  return reason.startsWith("Save") ? reason : `Save${reason}`;
}

/** Reasons of conditions of a GameSession that are not determined yet, or no longer apply. */
export const unsetReasons = {
  /** `Unknown`, set by the operator: the session has not reached this step. */
  pending: "Pending",
  /**
   * `Unknown`, set by the operator on behalf of the node agent: the agent of the session's node has not
   * reported yet.
   */
  nodeAgentSilent: "NodeAgentSilent",
  /** `Unknown`, set by the node agent: the session has not reached this step. */
  notYet: "NotYet",
  /**
   * `False`, set by the operator on PodReady and StreamReady: the session has ended. The Ready condition is
   * then absent.
   */
  finished: "Finished",
} as const;

/** `spec.stopReason` and `status.stopReason` of a GameSession: why it ends. */
export const stopReasons = {
  /** Set by the API: the player ended the session. Default for a stop without a reason. */
  userRequested: "UserRequested",
  /** Set by the API or the operator: no keepalive arrived in time, the player left, or there was no input. */
  idleTimeout: "IdleTimeout",
  /** Set by the API or the operator: the session lasted `spec.maxDurationSeconds`. */
  maxDuration: "MaxDuration",
  /**
   * Set by the operator: an admin deleted the object, or planned the end in `spec.plannedEnd`. Set by the
   * API: the database has no session of that name, for example after it was restored from a backup.
   */
  deleted: "Deleted",
  /** Set by the operator: the time in `spec.plannedEnd` has come, because of a maintenance. */
  maintenance: "Maintenance",
  /** Set by the operator: the time in `spec.plannedEnd` has come, because the node is being drained. */
  drained: "Drained",
  /** Set by the operator: the game exited normally. */
  gameExited: "GameExited",
  /**
   * Set by the operator: the node of the session is lost. Set by the API, only in the database: the object is
   * missing in the cluster.
   */
  nodeLost: "NodeLost",
  /**
   * Set by the operator: `status.failure` has the failure. Set by the API, only in the database: the object
   * was never created.
   */
  failed: "Failed",
} as const;

/**
 * Reasons of `status.failure` of a GameSession, the Finished condition and the final event, set by the
 * operator. Without a failure, Finished has the `stopReason`. Reasons of Scheduled, and permanent reasons of
 * ContentReady and SaveRestored, become failures unchanged.
 */
export const failureReasons = {
  /** The game needs internet access, which is not allowed for games in this cluster. */
  networkNotAllowed: "NetworkNotAllowed",
  /** The game needs internet access, and the cluster does not verifiably enforce NetworkPolicies. */
  networkNotEnforced: "NetworkNotEnforced",
  /** The game's files or the save were not ready in time on any node that was tried. */
  downloadTimedOut: "DownloadTimedOut",
  /** The pod was not ready in time. */
  startTimedOut: "StartTimedOut",
  /** No node has room for the pod. */
  podRefused: "PodRefused",
  /** The kubelet rejected the pod on the last node that was tried. */
  podRejected: "PodRejected",
  /** The cluster evicted or preempted the pod. */
  podEvicted: "PodEvicted",
  /** The pod was deleted. */
  podDeleted: "PodDeleted",
  /** The pod is gone for an unknown reason. */
  podLost: "PodLost",
  /** Neither the node's kubelet nor its agent reports any longer. */
  nodeLost: "NodeLost",
  /** The game exceeded its memory limit. */
  outOfMemory: "OutOfMemory",
  /** The streamer failed. */
  streamerFailed: "StreamerFailed",
  /** The game exited with an error. */
  gameCrashed: "GameCrashed",
  /** The launcher exited normally while the game that it had started was still running. */
  launcherExited: "LauncherExited",
  /** The game exited normally before its stream was ready. */
  gameEndedEarly: "GameEndedEarly",
  /**
   * The last save could not be stored in time. The node keeps it until it can be stored; the SavePersisted
   * condition then reports it.
   */
  saveNotStored: "SaveNotStored",
} as const;

/** Failures of the game itself, not of the platform. */
export const gameFaults = [
  failureReasons.gameCrashed,
  failureReasons.outOfMemory,
  failureReasons.launcherExited,
  failureReasons.gameEndedEarly,
] as const;

/** Failures that only exist in the database, because there is no GameSession. Set by the API. */
export const recordedFailureReasons = {
  /** The GameSession was never created. */
  launchFailed: "LaunchFailed",
  /** The player could no longer see the game while the launch waited in the queue. */
  gameUnavailable: "GameUnavailable",
  /** The GameSession was removed by force, or the cluster lost it. */
  vanished: "Vanished",
} as const;

/**
 * Reasons of events on a GameSession, in addition to reasons of conditions, failures and stops. The node
 * agent's event about the last save has the reason of SavePersisted with the prefix `Save`, for example
 * SaveStored or SaveTooLarge.
 */
export const gameSessionEventReasons = {
  /** By the operator: the session was placed on a node. */
  scheduled: "Scheduled",
  /** By the operator: the session moves to another node. */
  moved: "Moved",
  /** By the operator: the media port is already in use on the node, and another one is tried. */
  portTaken: "PortTaken",
  /** By the operator: the session's pod was created. */
  podCreated: "PodCreated",
  /** By the operator: the status was edited, and the running pod was found and added to it again. */
  podAdopted: "PodAdopted",
  /** By the operator: the game can be played. */
  ready: "Ready",
  /** By the operator: the session has ended. */
  finished: "Finished",
  /** By the operator: the game was killed at its end, so its last save may be incomplete. */
  gameKilled: "GameKilled",
  /** By the operator: a folder that the game writes to was full at some time. */
  folderFull: "FolderFull",
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
