import { setTimeout as delay } from "node:timers/promises";
import type { Platform } from "#test/e2e/support/platform.ts";
import { PlayerHttp } from "../support/http/playerHttp.ts";

const players = 4;
const stopsEach = 25;
/** Stops happen at any point of a launch. */
const longestWaitMs = 4000;

/**
 * Lets several players launch and stop at the same time, and returns the milliseconds that each stop took.
 */
export async function measureEarlyStops(installed: Platform, slug: string): Promise<number[]> {
  const times = await Promise.all(Array.from({ length: players }, () => stopEarly(installed, slug)));
  return times.flat();
}

async function stopEarly(installed: Platform, slug: string): Promise<number[]> {
  const player = await PlayerHttp.signIn(installed.baseUrl, await installed.createPlayer());
  const times: number[] = [];
  for (let round = 0; round < stopsEach; round++) {
    const sessionId = await player.launch(slug);
    await delay(longestWaitMs * Math.random());
    const asked = performance.now();
    await player.stop(sessionId);
    times.push(performance.now() - asked);
  }
  return times;
}
