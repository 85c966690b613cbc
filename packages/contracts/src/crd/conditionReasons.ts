/**
 * Which of the reasons of reasons.ts each condition, failure and event of a GameSession may have, so that a
 * wrong one does not compile.
 */
import type { NodeAgentConditionType, OperatorConditionType, StopReason } from "./gameSession.ts";
import {
  contentReasons,
  restoreReasons,
  type gameSessionEventReasons,
  type podReadyReasons,
  type AcceleratedReason,
  type ContentReason,
  type OwnFailureReason,
  type PodReadyReason,
  type ReadyReason,
  type RestoreReason,
  type ScheduledReason,
  type StreamReadyReason,
  type UnsetReason,
} from "./reasons.ts";

/**
 * Reasons with which a node cannot make a session ready, however long one waits: the archive or the save is
 * bad, or the node is full.
 */
export const terminalReasons = [
  contentReasons.archiveRefused,
  contentReasons.archiveIncomplete,
  contentReasons.insufficientSpace,
  restoreReasons.saveRefused,
  restoreReasons.saveMissing,
  restoreReasons.saveVolumeFull,
] as const;
export type TerminalReason = (typeof terminalReasons)[number];

/** Returns whether a reason of ContentReady or SaveRestored is one that waiting does not cure. */
export function isTerminalReason(reason: string | undefined): reason is TerminalReason {
  return terminalReasons.some((terminal) => terminal === reason);
}

const unreadableSaveReasons: readonly string[] = [
  restoreReasons.checksumMismatch,
  restoreReasons.saveMissing,
];

/**
 * Returns whether a reason of SaveRestored, or of the failure that came of it, is that the object store has
 * the save damaged or not at all.
 */
export function isUnreadableSaveReason(reason: string): boolean {
  return unreadableSaveReasons.includes(reason);
}

/** Reasons of `status.failure`. */
export type FailureReason =
  | OwnFailureReason
  | ScheduledReason
  | TerminalReason
  | typeof restoreReasons.checksumMismatch;

/** The reasons that the operator may give each of its conditions. */
export interface OperatorReasons extends Record<OperatorConditionType, string> {
  Scheduled: ScheduledReason | UnsetReason;
  PodReady: PodReadyReason | UnsetReason;
  StreamReady: StreamReadyReason | UnsetReason;
  Ready: ReadyReason | UnsetReason;
  Accelerated: AcceleratedReason | UnsetReason;
  Finished: FailureReason | StopReason | UnsetReason;
}

/** The reasons that the node agent may give each of its conditions. */
export interface NodeAgentReasons extends Record<NodeAgentConditionType, string> {
  ContentReady: ContentReason | UnsetReason;
  SaveRestored: RestoreReason | UnsetReason;
  /** One of `saveReasons`, or what the packer of another release says. */
  SavePersisted: string;
}

/** Reasons of the events that the operator records on a GameSession. */
export type GameSessionEventReason =
  | (typeof gameSessionEventReasons)[keyof typeof gameSessionEventReasons]
  | ScheduledReason
  | FailureReason
  | StopReason
  | ReadyReason
  | AcceleratedReason
  | typeof podReadyReasons.failedCreate;
