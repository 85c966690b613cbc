import type { PlayLimit } from "#contracts/http/playLimits.ts";
import { limits } from "#contracts/limits.ts";
import { DomainError } from "../../errors.ts";
import type { Postgres } from "../../stores/postgres.ts";
import {
  findGroupPlayLimits,
  findPlayedTime,
  type GroupPlayLimits,
  type PlayedTime,
} from "./playLimitQueries.ts";

/** How long players may play; undefined for no limit. */
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

/** Returns the limits of a player: of their groups, and for a period that no group limits, the site's. */
export function limitsFor(site: PlayLimits, groups: GroupPlayLimits): PlayLimits {
  return {
    daySeconds: groups.daySeconds ?? site.daySeconds,
    monthSeconds: groups.monthSeconds ?? site.monthSeconds,
    timeZone: site.timeZone,
  };
}

/** Returns the limits of a player with what is left of each. */
export async function readPlayLimits(deps: PlayLimitDeps, userId: string): Promise<PlayLimit[]> {
  const groups = await findGroupPlayLimits(deps.postgres.pool, userId);
  return (await readRemaining(deps, userId, groups))?.limits ?? [];
}

/** Returns undefined without limits, which takes no query. */
async function readRemaining(
  { config, postgres }: PlayLimitDeps,
  userId: string,
  groups: GroupPlayLimits,
): Promise<{ limits: PlayLimit[]; now: Date } | undefined> {
  const playLimits = limitsFor(config.playLimits, groups);
  if (playLimits.daySeconds === undefined && playLimits.monthSeconds === undefined) return undefined;
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
export async function requirePlayTime(
  deps: PlayLimitDeps,
  userId: string,
  groups: GroupPlayLimits,
): Promise<number | undefined> {
  const remaining = await readRemaining(deps, userId, groups);
  if (remaining === undefined) return undefined;
  const { limits: playLimits, now } = remaining;
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
    message: `You have ${hours} ${hours === 1 ? "hour" : "hours"} of play per ${period}, and they are used up. You can play again at ${resetsAt}.`,
    retryAfterSeconds: Math.max(1, Math.ceil((Date.parse(resetsAt) - now.getTime()) / 1000)),
  });
}
