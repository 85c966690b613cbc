import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { LoadClient } from "./http/load.ts";
import { SignInClient } from "./http/signInClient.ts";
import type { BenchFixture } from "./http/fixture.ts";
import { atMostRow, belowRow, median, milliseconds, percentile, type BenchRow } from "./row.ts";

/** With a single round, any disturbance once a second would determine the slowest percent. */
const rounds = 5;
const keepalivesPerSecond = 200;
/**
 * Each round has two pauses, so that the sign-ins of at most three rounds fall into one minute, which is the
 * limit per address.
 */
const quietMs = 10_000;
const signIns = 16;

/**
 * A3: the effect of sign-ins on other players: the slowest keepalives and the longest stall of the event
 * loop. The limit is the time keepalives take next to a busy loop of the lowest priority, unrelated to the
 * API, which is the cost of a busy processor.
 */
export async function measureSignIns(fixture: BenchFixture): Promise<BenchRow[]> {
  const [before, during, limit]: [number[], number[], number[]] = [[], [], []];
  const stalls: number[] = [];
  const signInClient = new SignInClient();
  const api = await fixture.startApi();
  const clients = fixture.players.map((player) => new LoadClient(player, api.port));
  for (let round = 0; round <= rounds; round += 1) {
    // Warm-up: in production, the code is compiled, including that of sign-ins.
    const isWarmUp = round === 0;
    const quiet = await keepalivesDuring(clients, delay(quietMs));
    await api.stallMs();
    const busy = await keepalivesDuring(
      clients,
      signInClient.signIn(api.port, fixture.players.slice(0, signIns)),
    );
    const stallMs = await api.stallMs();
    const beside = await keepalivesDuring(clients, busyLoop(quietMs));
    if (isWarmUp) continue;
    before.push(...quiet);
    during.push(...busy);
    limit.push(...beside);
    stalls.push(stallMs);
  }
  for (const client of clients) client.close();
  await api.stop();
  signInClient.close();
  const p99 = (times: readonly number[]): number => percentile(times, 0.99);
  return [
    {
      ...atMostRow(`A3 keepalive p99 during ${signIns} sign-ins, before them`, p99(during), p99(before), 2),
      limit: milliseconds(p99(limit)),
    },
    belowRow(`A3 event-loop stall during ${signIns} sign-ins`, median(stalls), 20),
  ];
}

async function busyLoop(ms: number): Promise<void> {
  const loop = spawn(
    "nice",
    ["-n", "19", process.execPath, "--eval", `const end = Date.now() + ${ms}; while (Date.now() < end);`],
    { stdio: "inherit" },
  );
  await once(loop, "exit");
}

/**
 * Returns the milliseconds of each keepalive. They are sent on schedule, even if earlier responses are late.
 */
async function keepalivesDuring(clients: readonly LoadClient[], work: Promise<unknown>): Promise<number[]> {
  const under = { way: true };
  const worked = work.finally(() => (under.way = false));
  const startedMs = performance.now();
  const responses: Promise<number>[] = [];
  while (under.way) {
    const client = clients[responses.length % clients.length];
    if (client === undefined) throw new Error("There is no player.");
    responses.push(timed(client));
    await delay(Math.max(0, startedMs + responses.length * (1000 / keepalivesPerSecond) - performance.now()));
  }
  await worked;
  return Promise.all(responses);
}

async function timed(client: LoadClient): Promise<number> {
  const startedMs = performance.now();
  await client.send({
    method: "POST",
    path: "/api/game/keepalive",
    body: JSON.stringify({ sessionId: client.player.gameSessionId }),
  });
  return performance.now() - startedMs;
}
