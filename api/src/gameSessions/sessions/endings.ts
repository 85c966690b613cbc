import { limits } from "#contracts/limits.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { StopReason } from "#contracts/crd/gameSessionSpec.ts";
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

/** Ends that neither the player nor the game asked for. */
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

/**
 * Returns why and since when a session stops that its player or its game did not end; undefined for others,
 * and for a session that is not stopping.
 */
export function stoppingEndOf(
  row: GameSessionRow,
  gameSession: GameSession | undefined,
): GameSessionEnding | undefined {
  const stopReason = stopReasonOf(row, gameSession);
  const reason = stopReason === undefined ? undefined : endingReasonOf(stopReason, row);
  const at =
    row.stoppingAt?.toISOString() ??
    gameSession?.status?.stoppingAt ??
    gameSession?.metadata.deletionTimestamp;
  if (reason === undefined || at === undefined) return undefined;
  const { plannedEnd } = gameSession?.spec ?? {};
  const message = plannedEnd?.reason === stopReason ? plannedEnd?.message : undefined;
  return { reason, at: new Date(at).toISOString(), ...(message === undefined ? {} : { message }) };
}

/** Returns the reason of a stop that has begun; undefined before that. */
export function stopReasonOf(
  { stopReason }: Pick<GameSessionRow, "stopReason">,
  gameSession: GameSession | undefined,
): StopReason | undefined {
  const { metadata, spec, status } = gameSession ?? {};
  const known = StopReason.safeParse(stopReason ?? status?.stopReason ?? spec?.stopReason).data;
  // The operator has not seen the deletion yet.
  return known ?? (metadata?.deletionTimestamp === undefined ? undefined : stopReasons.deleted);
}

function endingReasonOf(
  stopReason: StopReason,
  { playLimitEndsAt, readyAt }: GameSessionRow,
): GameSessionEnding["reason"] | undefined {
  if (stopReason === "MaxDuration") return playLimitEndsAt === null ? "max_duration" : "play_limit";
  if (stopReason === "IdleTimeout") return readyAt === null ? undefined : "idle_timeout";
  return plannedReasons[stopReason];
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
