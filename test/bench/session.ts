import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import { gameSessionEvents } from "#contracts/http/gameSessionEvents.ts";

/** When the answer 202 and the event `running` came, in milliseconds of the epoch. */
export interface Launched { sessionId: string; acceptedMs: number; runningMs: number; launchMs: number }

async function call<T>(page: Page, method: "GET" | "POST", path: string, body?: object): Promise<T> {
  return await (await request(page, method, path, body)).json() as T;
}

/**
 * Calls the API with the page's cookies, and without the page: what is measured should not wait for a browser. Rounds may come
 * quicker than a player may launch; then it waits as it is told.
 */
async function request(page: Page, method: "GET" | "POST", path: string, body?: object): Promise<Response> {
  const { origin } = new URL(page.url());
  const cookies = await page.context().cookies(origin);
  const response = await fetch(origin + path, {
    method,
    headers: {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
      ...(body === undefined ? {} : { "content-type": "application/json", origin }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(90_000),
  });
  const retryAfter = response.headers.get("retry-after");
  if (response.status === 429 && retryAfter !== null) {
    await setTimeout(Number(retryAfter) * 1000);
    return request(page, method, path, body);
  }
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** Launches the game and measures from the answer 202 to the event that the session runs. */
export async function launch(page: Page, gameSlug: string): Promise<Launched> {
  const sessionId = await beginLaunch(page, gameSlug);
  const acceptedMs = Date.now();
  const runningMs = await whenRunning(page, sessionId);
  return { sessionId, acceptedMs, runningMs, launchMs: runningMs - acceptedMs };
}

/** Launches the game and gives the session's id with the answer 202. */
export async function beginLaunch(page: Page, gameSlug: string): Promise<string> {
  return (await call<{ sessionId: string }>(page, "POST", "/api/game/launch", { gameSlug })).sessionId;
}

/** When the event that the session runs arrived, in milliseconds of the epoch: the play page follows the same events. */
export async function whenRunning(page: Page, sessionId: string): Promise<number> {
  const { body } = await request(page, "GET", `/api/game/events?sessionId=${sessionId}`);
  if (body === null) throw new Error("There are no events of the session.");
  for await (const line of createInterface({ input: Readable.from(body) })) {
    if (line === `event: ${gameSessionEvents.running}`) return Date.now();
    if (line === `event: ${gameSessionEvents.end}`) break;
  }
  throw new Error(`The session ${sessionId} has ended before it ran.`);
}

export async function keepAlive(page: Page, sessionId: string): Promise<void> {
  await call(page, "POST", "/api/game/keepalive", { sessionId });
}

export async function stop(page: Page, sessionId: string): Promise<void> {
  await call(page, "POST", "/api/game/stop", { sessionId });
}
