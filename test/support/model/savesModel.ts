/** One pack of a session's save, stored by its node agent. */
export interface ModelSave {
  key: string;
  sequence: number;
  attempt: number;
  /** Counts the packs of all sessions upward, as they were stored. */
  order: number;
}

/** A row of a slot's history as it has to be. */
export interface ModelVersion {
  key: string;
  kind: "played" | "conflict" | "restored";
  session: string | undefined;
  /** The rule of what is kept has let it go: it may be missing. */
  mayBeMissing: boolean;
}

export interface ModelSlot {
  id: string;
  player: number;
  number: number;
  current: string | undefined;
  /** The last that came at the end. */
  versions: ModelVersion[];
  isDeleted: boolean;
  /** Deleted so long ago that nothing of it need be kept, whatever is told of it later. */
  isForgotten: boolean;
}

/**
 * What the cluster knows of a session: `stopping` was asked to end, and the operator has not ended it;
 * `unsaved` has ended, its last save is on its node; `lost` has ended with its node or before that was lost,
 * and the node's agent may go on.
 */
type SessionState = "running" | "stopping" | "unsaved" | "lost" | "over";

export interface ModelSession {
  id: string;
  player: number;
  slot: ModelSlot;
  state: SessionState;
  isPlayerFree: boolean;
  ownsSlot: boolean;
  /** Of the agent's last pack. */
  sequence: number;
  attempt: number;
  /** Newest pack in the object store. */
  stored: ModelSave | undefined;
  /** Newest pack that the platform was told of, or found. */
  known: ModelSave | undefined;
}

/** Slots, their owners and their histories, in the simplest words. */
export interface SavesModel {
  sessions: ModelSession[];
  slots: ModelSlot[];
  isStoreUp: boolean;
  isClusterWritable: boolean;
}

/** As the API of the test is told to keep versions. */
export const historyRule = { versionsKept: 3, dailyVersionsDays: 2, retentionDays: 7 };

export function slotsOf({ slots }: SavesModel, player: number): ModelSlot[] {
  return slots
    .filter((slot) => slot.player === player && !slot.isDeleted)
    .toSorted((a, b) => a.number - b.number);
}

export function ownerOf({ sessions }: SavesModel, slot: ModelSlot): ModelSession | undefined {
  return sessions.find((session) => session.slot === slot && session.ownsSlot);
}

/** The session for which its player cannot launch another one. */
export function activeSession({ sessions }: SavesModel, player: number): ModelSession | undefined {
  return sessions.find((session) => session.player === player && !session.isPlayerFree);
}

/**
 * The platform learns of a stored save: its owner moves the slot, any other session leaves a conflict copy.
 */
export function learn(session: ModelSession, save: ModelSave): void {
  if (session.known !== undefined && !isLater(save, session.known)) return;
  session.known = save;
  addVersion(session.slot, {
    key: save.key,
    kind: session.ownsSlot ? "played" : "conflict",
    session: session.id,
    mayBeMissing: false,
  });
  if (session.ownsSlot) session.slot.current = save.key;
}

/** The session gives its slot back; `isAdopting` with the newest save that the object store has of it. */
export function release(session: ModelSession, isAdopting: boolean): void {
  if (isAdopting && session.stored !== undefined && session.ownsSlot) learn(session, session.stored);
  session.ownsSlot = false;
}

/** Stores a version as the newest; a session has one of each kind. */
export function addVersion(slot: ModelSlot, version: ModelVersion): void {
  if (slot.isForgotten) return;
  const others = slot.versions.filter(
    ({ session, kind }) => session === undefined || session !== version.session || kind !== version.kind,
  );
  slot.versions = [...others, version];
}

/**
 * What a sweep so much later need not keep, and what it has found: saves of which nobody was told. These it
 * may find, as `found` tells, and must not remove.
 */
export function sweepModel(model: SavesModel, laterHours: number, found: ReadonlySet<string>): void {
  const unrecorded = model.sessions.filter(
    ({ slot, ownsSlot, stored }) =>
      !slot.isDeleted && !ownsSlot && stored !== undefined && found.has(stored.key),
  );
  for (const session of unrecorded.toSorted((a, b) => (a.stored?.order ?? 0) - (b.stored?.order ?? 0))) {
    if (session.stored !== undefined) learn(session, session.stored);
  }
  const isRetentionOver = laterHours >= historyRule.retentionDays * 24;
  for (const slot of model.slots) {
    // A restored save has two rows: what was played, which others have superseded since, and the slot's own.
    const own = slot.versions.findLast(({ key, kind }) => kind !== "conflict" && key === slot.current);
    for (const version of slot.versions.slice(0, -historyRule.versionsKept)) {
      if (version.kind !== "conflict" || isRetentionOver) version.mayBeMissing ||= version !== own;
    }
    if (slot.isDeleted && isRetentionOver) Object.assign(slot, { versions: [], isForgotten: true });
  }
}

/**
 * Keys that the object store must have of a slot: what is kept, and the newest save of each session of which
 * nobody was told yet.
 */
export function keptKeys({ sessions }: SavesModel, slot: ModelSlot): Set<string> {
  const untold = sessions
    .filter((session) => session.slot === slot && !slot.isDeleted && session.stored !== session.known)
    .flatMap(({ stored }) => stored?.key ?? []);
  return new Set([
    ...slot.versions.filter(({ mayBeMissing }) => !mayBeMissing).map(({ key }) => key),
    ...untold,
  ]);
}

function isLater(save: ModelSave, other: ModelSave): boolean {
  return save.sequence > other.sequence || (save.sequence === other.sequence && save.attempt > other.attempt);
}
