import type { Page } from "playwright-core";
import { eventually } from "#test/support/eventually.ts";

export interface Launched { sessionId: string; launchMs: number }

/** Calls the API from the page, so with its cookies. */
async function call<T>(page: Page, method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const { origin } = new URL(page.url());
  const options = { ...(body === undefined ? {} : { data: body }), timeout: 60_000 };
  const response = method === "GET" ? await page.request.get(origin + path, options) : await page.request.post(origin + path, options);
  if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${await response.text()}`);
  return await response.json() as T;
}

/** Launches the game and measures from the answer 202 to the first status `running`, asked for every 20 ms. */
export async function launch(page: Page, gameSlug: string): Promise<Launched> {
  const { sessionId } = await call<{ sessionId: string }>(page, "POST", "/api/game/launch", { gameSlug });
  const started = performance.now();
  await eventually(async () => {
    const { status } = await call<{ status: string }>(page, "GET", `/api/game/session-status?sessionId=${sessionId}`);
    if (status === "error") throw new Error("the session failed");
    return status === "running";
  }, { timeoutMs: 90_000, intervalMs: 20, what: "the session to run" });
  return { sessionId, launchMs: performance.now() - started };
}

export async function keepAlive(page: Page, sessionId: string): Promise<void> {
  await call(page, "POST", "/api/game/keepalive", { sessionId });
}

export async function stop(page: Page, sessionId: string): Promise<void> {
  await call(page, "POST", "/api/game/stop", { sessionId });
}
