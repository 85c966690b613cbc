import type { Page } from "playwright-core";
import { eventually } from "#test/support/eventually.ts";

/** When the answer 202 and the first status `running` came, in milliseconds of the epoch. */
export interface Launched { sessionId: string; acceptedMs: number; runningMs: number; launchMs: number }

/** Calls the API with the page's cookies, and without the page: what is measured should not wait for a browser. */
async function call<T>(page: Page, method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const { origin } = new URL(page.url());
  const cookies = await page.context().cookies(origin);
  const response = await fetch(origin + path, {
    method,
    headers: {
      cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
      ...(body === undefined ? {} : { "content-type": "application/json", origin }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return await response.json() as T;
}

/** Launches the game and measures from the answer 202 to the first status `running`. */
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

/** When the first status `running` arrived, asked for every 20 ms, in milliseconds of the epoch. */
export async function whenRunning(page: Page, sessionId: string): Promise<number> {
  return eventually(async () => {
    const { status } = await call<{ status: string }>(page, "GET", `/api/game/session-status?sessionId=${sessionId}`);
    if (status === "error") throw new Error("the session failed");
    return status === "running" ? Date.now() : undefined;
  }, { timeoutMs: 90_000, intervalMs: 20, what: "the session to run" });
}

export async function keepAlive(page: Page, sessionId: string): Promise<void> {
  await call(page, "POST", "/api/game/keepalive", { sessionId });
}

export async function stop(page: Page, sessionId: string): Promise<void> {
  await call(page, "POST", "/api/game/stop", { sessionId });
}
