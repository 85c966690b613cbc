/** A pack of a session's save, stored by its node agent. */
export interface ModelSave {
  key: string;
  sequence: number;
  attempt: number;
  /** Increases with every stored pack of any session. */
  order: number;
}

/** Expected row of a slot's history. */
export interface ModelVersion {
  key: string;
  kind: "played" | "conflict" | "restored";
  session: string | undefined;
  /** True if the retention rule allows removing it. */
  mayBeMissing: boolean;
}

export interface ModelSlot {
  id: string;
  player: number;
  number: number;
  current: string | undefined;
  /** Newest last. */
  versions: ModelVersion[];
  isDeleted: boolean;
  /**
   * True if it was deleted so long ago that nothing of it has to be kept, even if saves are reported later.
   */
  isForgotten: boolean;
}

/**
 * State of a session in the cluster. `stopping`: a stop was requested, and the operator has not ended it.
 * `unsaved`: ended, with its last save still on its node. `lost`: ended when or before its node was lost; the
 * node's agent may continue.
 */
type SessionState = "running" | "stopping" | "unsaved" | "lost" | "over";

export interface ModelSession {
  id: string;
  player: number;
  slot: ModelSlot;
  state: SessionState;
  isPlayerFree: boolean;
  ownsSlot: boolean;
  /** Sequence of the agent's last pack. */
  sequence: number;
  attempt: number;
  /** Newest pack in the object store. */
  stored: ModelSave | undefined;
  /** Newest pack that was reported to the platform or found by it. */
  known: ModelSave | undefined;
}

/** A minimal model of slots, their owners and their histories. */
export interface SavesModel {
  sessions: ModelSession[];
  slots: ModelSlot[];
  isStoreUp: boolean;
  isClusterWritable: boolean;
}

/** The retention rule that the test's API is configured with. */
export const historyRule = { versionsKept: 3, dailyVersionsDays: 2, retentionDays: 7 };

export function slotsOf({ slots }: SavesModel, player: number): ModelSlot[] {
  return slots
    .filter((slot) => slot.player === player && !slot.isDeleted)
    .toSorted((a, b) => a.number - b.number);
}

export function ownerOf({ sessions }: SavesModel, slot: ModelSlot): ModelSession | undefined {
  return sessions.find((session) => session.slot === slot && session.ownsSlot);
}

/** Returns the session that prevents its player from launching another one. */
export function activeSession({ sessions }: SavesModel, player: number): ModelSession | undefined {
  return sessions.find((session) => session.player === player && !session.isPlayerFree);
}

/**
 * The platform learns of a stored save. The owner's save becomes the slot's current one; the save of any
 * other session becomes a conflict copy.
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

/** Releases the session's slot. With `isAdopting`, adopts its newest save in the object store first. */
export function release(session: ModelSession, isAdopting: boolean): void {
  if (isAdopting && session.stored !== undefined && session.ownsSlot) learn(session, session.stored);
  session.ownsSlot = false;
}

/** Stores a version as the newest. A session has at most one version of each kind. */
export function addVersion(slot: ModelSlot, version: ModelVersion): void {
  if (slot.isForgotten) return;
  const others = slot.versions.filter(
    ({ session, kind }) => session === undefined || session !== version.session || kind !== version.kind,
  );
  slot.versions = [...others, version];
}

/**
 * Applies a sweep at a later time: versions that it may remove, and unreported saves that it has found
 * (`found`). It may find unreported saves, but must not remove them.
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
    // A restored save has two rows: one for the session, which may be superseded, and the slot's current one.
    const own = slot.versions.findLast(({ key, kind }) => kind !== "conflict" && key === slot.current);
    for (const version of slot.versions.slice(0, -historyRule.versionsKept)) {
      if (version.kind !== "conflict" || isRetentionOver) version.mayBeMissing ||= version !== own;
    }
    if (slot.isDeleted && isRetentionOver) Object.assign(slot, { versions: [], isForgotten: true });
  }
}

/**
 * Returns the keys that the object store must have for a slot: kept versions, and the newest unreported save
 * of each session.
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
