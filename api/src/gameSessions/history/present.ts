import { hasEnded, isOngoing } from "#contracts/crd/sessionState.ts";
import type {
  HistoryGame,
  HistoryResponse,
  PlayedSession,
  PlayTimeResponse,
} from "#contracts/http/history.ts";
import { publicEndOf } from "../sessions/present.ts";
import type { GamePlayTimeRow, PlayedSessionRow } from "./historyQueries.ts";

/** Returns one session as the player's history shows it. */
export function presentPlayedSession(row: PlayedSessionRow): PlayedSession {
  const { id, status, startedAt, endedAt, readyAt, durationSeconds, slotId, slotNumber, slotLabel } = row;
  const end = publicEndOf(row.stopReason, readyAt !== null, {
    failureReason: row.failureReason,
    hasSaveNotice: row.saveNotice !== null,
  });
  return {
    sessionId: id,
    game: presentHistoryGame(row),
    status,
    startedAt: startedAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    playSeconds: hasEnded(status) ? rounded(durationSeconds ?? 0) : null,
    ...(!isOngoing(status) && presentEnd(end)),
    ...(hasEnded(status) && row.saveNotice !== null && { saveNotice: row.saveNotice }),
    slot:
      slotId === null || slotNumber === null || slotLabel === null
        ? null
        : { id: slotId, slotNumber, label: slotLabel },
  };
}

function presentEnd(
  end: ReturnType<typeof publicEndOf>,
): Pick<PlayedSession, "endReason" | "message"> | undefined {
  if (end === undefined) return undefined;
  return {
    endReason: end.endReason,
    ...(end.message !== undefined && { message: end.message }),
  };
}

/** Returns one game with the player's play time. */
export function presentGamePlayTime(row: GamePlayTimeRow): PlayTimeResponse["games"][number] {
  return {
    game: presentHistoryGame(row),
    sessions: row.sessions,
    playSeconds: rounded(row.playSeconds),
    lastPlayedAt: row.lastPlayedAt.toISOString(),
  };
}

/** Returns the pagination of a page. */
export function presentPagination(
  { page, limit }: { page: number; limit: number },
  total: number,
): HistoryResponse["pagination"] {
  return { page, limit, total, totalPages: Math.ceil(total / limit) };
}

/** Returns a duration in seconds with one decimal. */
export function rounded(seconds: number): number {
  return Math.round(seconds * 10) / 10;
}

function presentHistoryGame({
  slug,
  title,
  thumbnail,
  isListed,
}: Pick<PlayedSessionRow, "slug" | "title" | "thumbnail" | "isListed">): HistoryGame {
  return { slug, title, thumbnail, isAvailable: isListed };
}
