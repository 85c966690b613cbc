import { estimateWait, type QueueMeasure } from "#api/gameSessions/queue/estimateWait.ts";

/** A wait on the simulated day: what was estimated when it began, and how long it took. */
export interface SimulatedWait {
  estimate: { min: number; max: number };
  seconds: number;
}

interface Player {
  arrivedAt: number;
  /** When the player gives up; infinite for most. */
  leavesAt: number;
  playsSeconds: number;
  estimate?: SimulatedWait["estimate"];
}

interface Session {
  startedAt: number;
  endsAt: number;
}

const daySeconds = 24 * 3600;
const seats = 30;
const measuredSeconds = 2 * 3600;

/**
 * Simulates a day of a site with thirty seats: few players in the morning, too many in the evening, sessions
 * of very different lengths, and some players who give up. Every arrival that has to wait gets an estimate
 * from what the two hours before have shown. Returns the waits of those who got a seat.
 */
export function simulateDay(seed: number): SimulatedWait[] {
  const random = createRandom(seed);
  const arrivals = arrivalsOf(random);
  const playing: Session[] = [];
  const ended: Session[] = [];
  const left: { at: number; isSeated: boolean }[] = [];
  let queue: Player[] = [];
  const waits: SimulatedWait[] = [];

  const seat = (player: Player, at: number): void => {
    const startedAt = player.estimate === undefined ? at : at + random() * 30;
    playing.push({ startedAt, endsAt: startedAt + player.playsSeconds });
    if (player.estimate === undefined) return;
    waits.push({ estimate: player.estimate, seconds: at - player.arrivedAt });
    left.push({ at, isSeated: true });
  };
  const advance = (until: number): void => {
    for (;;) {
      const next = playing.toSorted((a, b) => a.endsAt - b.endsAt)[0];
      if (next === undefined || next.endsAt > until) break;
      playing.splice(playing.indexOf(next), 1);
      ended.push(next);
      giveUp(next.endsAt);
      const first = queue.shift();
      if (first !== undefined) seat(first, next.endsAt);
    }
    giveUp(until);
  };
  const giveUp = (at: number): void => {
    for (const { leavesAt } of queue) if (leavesAt <= at) left.push({ at: leavesAt, isSeated: false });
    queue = queue.filter(({ leavesAt }) => leavesAt > at);
  };
  const measureAt = (at: number): QueueMeasure => {
    const from = at - measuredSeconds;
    const recent = [...playing, ...ended.filter(({ endsAt }) => endsAt > from)];
    const recentlyLeft = left.filter((each) => each.at > from);
    const seated = recentlyLeft.filter(({ isSeated }) => isSeated).length;
    return {
      seats: playing.length,
      ends: recent.filter(({ endsAt }) => endsAt <= at).length,
      playedSeconds: recent.reduce(
        (sum, { startedAt, endsAt }) => sum + Math.max(0, Math.min(endsAt, at) - Math.max(startedAt, from)),
        0,
      ),
      seated,
      abandoned: recentlyLeft.length - seated,
    };
  };

  for (const player of arrivals) {
    advance(player.arrivedAt);
    if (playing.length < seats) seat(player, player.arrivedAt);
    else {
      player.estimate = estimateWait(queue.length, measureAt(player.arrivedAt));
      queue.push(player);
    }
  }
  advance(Number.MAX_SAFE_INTEGER);
  return waits;
}

/** Arrivals by thinning: a tenth of the evening's rate at night, the most at nine. */
function arrivalsOf(random: () => number): Player[] {
  const peakPerSecond = 56 / 3600;
  const players: Player[] = [];
  for (let at = 0; at < daySeconds; at += -Math.log(1 - random()) / peakPerSecond) {
    const hoursFromPeak = Math.abs(at / 3600 - 21);
    if (random() > Math.max(0.1, Math.exp(-((hoursFromPeak / 4) ** 2)))) continue;
    const isImpatient = random() < 0.2;
    players.push({
      arrivedAt: at,
      leavesAt: isImpatient ? at + 120 + random() * 1200 : Number.POSITIVE_INFINITY,
      playsSeconds: Math.min(8 * 3600, 1800 * Math.exp(0.9 * normal(random))),
    });
  }
  return players;
}

/** Returns a normally distributed number, by the method of Box and Muller. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Returns numbers from 0 to 1 that depend only on the seed (the generator "mulberry32"). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
