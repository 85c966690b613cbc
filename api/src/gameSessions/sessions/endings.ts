import { limits } from "#contracts/limits.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import type { GameSessionEnding } from "#contracts/http/gameSessions.ts";
import type { GameSessionRow } from "./gameSessionQueries.ts";

/** Seconds before the idle expiry at which players are warned. */
export interface WarningConfig {
  expiryWarningSeconds: readonly number[];
  idleTimeoutSeconds: number;
}

/** An end of a running session that is known in advance. */
interface KnownEnd {
  reason: GameSessionEnding["reason"];
  atMs: number;
  /** From when the player is told. */
  announcedMs: number;
  message?: string | undefined;
}

/** A timer may fire slightly early. */
const toleranceMs = 250;

const plannedReasons: Partial<Record<StopReason, GameSessionEnding["reason"]>> = {
  Maintenance: "maintenance",
  Drained: "drained",
  Deleted: "deleted",
};

/** Returns the next end that is due to be announced at `nowMs`; undefined if none is. */
export function endingOf(
  row: GameSessionRow,
  gameSession: GameSession | undefined,
  warnings: WarningConfig,
  nowMs: number,
): GameSessionEnding | undefined {
  const [next] = knownEnds(row, gameSession, warnings)
    .filter(({ announcedMs }) => announcedMs <= nowMs + toleranceMs)
    .toSorted((a, b) => a.atMs - b.atMs);
  return (
    next && {
      reason: next.reason,
      at: new Date(next.atMs).toISOString(),
      ...(next.message === undefined ? {} : { message: next.message }),
    }
  );
}

/** Returns when the next end is due to be announced that is not yet at `nowMs`; undefined if none is. */
export function nextAnnouncementMs(
  row: GameSessionRow,
  gameSession: GameSession | undefined,
  warnings: WarningConfig,
  nowMs: number,
): number | undefined {
  const upcoming = knownEnds(row, gameSession, warnings)
    .map(({ announcedMs }) => announcedMs)
    .filter((announcedMs) => announcedMs > nowMs + toleranceMs);
  return upcoming.length === 0 ? undefined : Math.min(...upcoming);
}

/** Returns the warning times that leave enough time for keepalives, in descending order. */
export function warningsWithin({ expiryWarningSeconds, idleTimeoutSeconds }: WarningConfig): number[] {
  return expiryWarningSeconds
    .filter((seconds) => seconds <= idleTimeoutSeconds / 2)
    .toSorted((a, b) => b - a);
}

function knownEnds(
  { status, readyAt, expiresAt, maxDurationSeconds, playLimitEndsAt }: GameSessionRow,
  gameSession: GameSession | undefined,
  warnings: WarningConfig,
): KnownEnd[] {
  if (status !== "running" && status !== "starting") return [];
  const [firstWarningSeconds] = warningsWithin(warnings);
  const { plannedEnd } = gameSession?.spec ?? {};
  const idleEndsAt = gameSession?.status?.idleEndsAt;
  const plannedReason = plannedEnd && plannedReasons[plannedEnd.reason];
  const maxDurationWarningSeconds = Math.min(
    limits.gameSession.maxDurationWarningSeconds,
    maxDurationSeconds / 2,
  );
  return [
    ...(expiresAt === null || firstWarningSeconds === undefined
      ? []
      : [endAt("idle_timeout", expiresAt.getTime(), firstWarningSeconds)]),
    ...(idleEndsAt === undefined ? [] : [endAt("idle_timeout", Date.parse(idleEndsAt), Infinity)]),
    ...(readyAt === null
      ? []
      : [
          endAt(
            playLimitEndsAt === null ? "max_duration" : "play_limit",
            readyAt.getTime() + maxDurationSeconds * 1000,
            maxDurationWarningSeconds,
          ),
        ]),
    ...(plannedEnd === undefined || plannedReason === undefined
      ? []
      : [{ ...endAt(plannedReason, Date.parse(plannedEnd.at), Infinity), message: plannedEnd.message }]),
  ];
}

function endAt(reason: KnownEnd["reason"], atMs: number, leadSeconds: number): KnownEnd {
  return { reason, atMs, announcedMs: atMs - leadSeconds * 1000 };
}
