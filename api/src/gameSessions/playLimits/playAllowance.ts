import type { PlayLimit } from "#contracts/http/playLimits.ts";
import { limits } from "#contracts/limits.ts";
import { DomainError } from "../../errors.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { findPlayedTime, type PlayedTime } from "./playLimitQueries.ts";

/** How long every player may play; undefined for no limit. */
export interface PlayLimits {
  daySeconds: number | undefined;
  monthSeconds: number | undefined;
  /** IANA time zone in which days and months begin. */
  timeZone: string;
}

/** Dependencies of play limits. */
export interface PlayLimitDeps {
  config: { playLimits: PlayLimits };
  postgres: Pick<Postgres, "pool">;
}

/** Returns whether this site limits how long players may play. */
export function hasPlayLimits({ daySeconds, monthSeconds }: PlayLimits): boolean {
  return daySeconds !== undefined || monthSeconds !== undefined;
}

/** Returns the limits of a player with what is left of each; without limits, empty and without a query. */
export async function readPlayLimits(
  { config: { playLimits }, postgres }: PlayLimitDeps,
  userId: string,
): Promise<{ limits: PlayLimit[]; now: Date | undefined }> {
  if (!hasPlayLimits(playLimits)) return { limits: [], now: undefined };
  const played = await findPlayedTime(postgres.pool, userId, playLimits.timeZone);
  return { limits: presentPlayLimits(playLimits, played), now: played.now };
}

/** Returns the limits with what is left of each. */
export function presentPlayLimits({ daySeconds, monthSeconds }: PlayLimits, played: PlayedTime): PlayLimit[] {
  const limitOf = (
    period: PlayLimit["period"],
    limitSeconds: number | undefined,
    playedSeconds: number,
    endsAt: Date,
  ): PlayLimit[] =>
    limitSeconds === undefined
      ? []
      : [
          {
            period,
            limitSeconds,
            playedSeconds: Math.round(playedSeconds),
            remainingSeconds: Math.max(0, Math.floor(limitSeconds - playedSeconds)),
            resetsAt: endsAt.toISOString(),
          },
        ];
  return [
    ...limitOf("day", daySeconds, played.daySeconds, played.dayEndsAt),
    ...limitOf("month", monthSeconds, played.monthSeconds, played.monthEndsAt),
  ];
}

/**
 * Returns for how many seconds the player may play from now on without a pause; undefined for any time.
 *
 * @throws play_limit_reached when less than a minute is left
 */
export async function requirePlayTime(deps: PlayLimitDeps, userId: string): Promise<number | undefined> {
  const { limits: playLimits, now } = await readPlayLimits(deps, userId);
  if (now === undefined) return undefined;
  // Of two exhausted limits, the one that lasts longer tells when the player can play again.
  const exhausted = playLimits.findLast(
    ({ remainingSeconds }) => remainingSeconds < limits.gameSession.playSecondsMin,
  );
  if (exhausted !== undefined) throw playLimitReached(exhausted, now);
  return Math.min(...playLimits.map((limit) => allowanceOf(limit, now)));
}

/**
 * Returns the seconds of play until the limit ends a session that starts now. A session that outlasts the day
 * or the month has the next one's time as well.
 */
export function allowanceOf({ limitSeconds, remainingSeconds, resetsAt }: PlayLimit, now: Date): number {
  const untilReset = Math.floor((Date.parse(resetsAt) - now.getTime()) / 1000);
  return remainingSeconds < untilReset ? remainingSeconds : untilReset + limitSeconds;
}

function playLimitReached({ period, limitSeconds, resetsAt }: PlayLimit, now: Date): DomainError {
  const hours = Number((limitSeconds / 3600).toFixed(2));
  return new DomainError("play_limit_reached", {
    message: `This site allows ${hours} ${hours === 1 ? "hour" : "hours"} of play per ${period}, and yours are used up. You can play again at ${resetsAt}.`,
    retryAfterSeconds: Math.max(1, Math.ceil((Date.parse(resetsAt) - now.getTime()) / 1000)),
  });
}
