import type { Page } from "playwright-core";
import { PlayerHttp } from "../support/http/playerHttp.ts";

/** When the 202 response and the event `running` came, in milliseconds of the epoch. */
export interface Launched {
  sessionId: string;
  acceptedMs: number;
  runningMs: number;
  launchMs: number;
}

/**
 * Launches the game with the page's cookies and measures from the 202 response to the event that the session
 * runs.
 */
export async function launch(page: Page, gameSlug: string): Promise<Launched> {
  const sessionId = await beginLaunch(page, gameSlug);
  const acceptedMs = Date.now();
  const runningMs = await whenRunning(page, sessionId);
  return { sessionId, acceptedMs, runningMs, launchMs: runningMs - acceptedMs };
}

/** Launches the game and returns the session's id with the 202 response. */
export async function beginLaunch(page: Page, gameSlug: string): Promise<string> {
  return PlayerHttp.of(page).launch(gameSlug);
}

/** When the event that the session runs arrived, in milliseconds of the epoch. */
export async function whenRunning(page: Page, sessionId: string): Promise<number> {
  return PlayerHttp.of(page).whenRunning(sessionId);
}

export async function keepAlive(page: Page, sessionId: string): Promise<void> {
  await PlayerHttp.of(page).keepAlive(sessionId);
}

export async function stop(page: Page, sessionId: string): Promise<void> {
  await PlayerHttp.of(page).stop(sessionId);
}
