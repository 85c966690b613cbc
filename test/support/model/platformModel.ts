import type { PublicStatus } from "#contracts/crd/sessionState.ts";

/** Expected state of a save slot. */
export interface ModelSlot {
  number: number;
  /** Saves stored by sessions so far. */
  generation: number;
  lastSession: number;
}

export interface ModelSession {
  id: string;
  user: number;
  game: number;
  slot: number;
  status: PublicStatus;
  wasReady: boolean;
  hasSaved: boolean;
  /** True if this launch created the slot. */
  isSlotNew: boolean;
}

export interface ModelGame {
  slug: string;
  id: string;
  status: "pending_upload" | "active" | "deleted";
  /** Checksum of the current archive. */
  checksum: string | undefined;
}

/** A minimal model of the platform with a few users and games. */
export interface PlatformModel {
  games: ModelGame[];
  sessions: ModelSession[];
  favorites: Set<string>;
  /** By user and game. */
  slots: Map<string, ModelSlot[]>;
}

export function pairOf(user: number, game: number): string {
  return `${user} ${game}`;
}

export function slotsOf({ slots }: PlatformModel, user: number, game: number): ModelSlot[] {
  const pair = pairOf(user, game);
  const known = slots.get(pair) ?? [];
  slots.set(pair, known);
  return known;
}

export function activeSession({ sessions }: PlatformModel, user: number): ModelSession | undefined {
  return sessions.find(
    (session) => session.user === user && (session.status === "starting" || session.status === "running"),
  );
}

/** Ends a session for any reason. */
export function endSession(model: PlatformModel, session: ModelSession): void {
  session.status = "stopped";
  const slots = slotsOf(model, session.user, session.game);
  // A slot created for a session that never ran becomes free again.
  if (session.isSlotNew && !session.wasReady)
    slots.splice(
      slots.findIndex(({ number }) => number === session.slot),
      1,
    );
}
