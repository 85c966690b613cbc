import type { Page } from "playwright-core";
import { PlayerHttp } from "../support/http/playerHttp.ts";

/** Times of the 202 response and of the event `running`, in milliseconds since the epoch. */
export interface Launched {
  sessionId: string;
  acceptedMs: number;
  runningMs: number;
  launchMs: number;
}

/**
 * Launches the game with the page's cookies, and returns the times of the 202 response and the `running`
 * event.
 */
export async function launch(page: Page, gameSlug: string): Promise<Launched> {
  const sessionId = await beginLaunch(page, gameSlug);
  const acceptedMs = Date.now();
  const runningMs = await whenRunning(page, sessionId);
  return { sessionId, acceptedMs, runningMs, launchMs: runningMs - acceptedMs };
}

/** Launches the game and returns the id in the 202 response. */
export async function beginLaunch(page: Page, gameSlug: string): Promise<string> {
  return PlayerHttp.of(page).launch(gameSlug);
}

/** Returns when the event `running` arrived, in milliseconds since the epoch. */
export async function whenRunning(page: Page, sessionId: string): Promise<number> {
  return PlayerHttp.of(page).whenRunning(sessionId);
}

export async function keepAlive(page: Page, sessionId: string): Promise<void> {
  await PlayerHttp.of(page).keepAlive(sessionId);
}

export async function stop(page: Page, sessionId: string): Promise<void> {
  await PlayerHttp.of(page).stop(sessionId);
}
