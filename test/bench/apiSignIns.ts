import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { LoadClient } from "./http/load.ts";
import { SignInClient } from "./http/signInClient.ts";
import type { BenchFixture } from "./http/fixture.ts";
import { atMostRow, belowRow, median, milliseconds, percentile, type BenchRow } from "./row.ts";

/** Whatever happens to a machine once a second makes up a single round's slowest hundredth. */
const rounds = 5;
const keepalivesPerSecond = 200;
/**
 * Two of them are in each round, so that the sign-ins of three rounds at most fall into a minute: an address
 * may send no more.
 */
const quietMs = 10_000;
const signIns = 16;

/**
 * A3: what players notice of sign-ins: the slowest keepalives, and the longest that the event loop stands
 * still. The limit is what keepalives take beside a loop of the lowest priority that knows nothing of the
 * API: what it costs that a processor is busy at all.
 */
export async function measureSignIns(fixture: BenchFixture): Promise<BenchRow[]> {
  const [before, during, limit]: [number[], number[], number[]] = [[], [], []];
  const stalls: number[] = [];
  const signInClient = new SignInClient();
  const api = await fixture.startApi();
  const clients = fixture.players.map((player) => new LoadClient(player, api.port));
  for (let round = 0; round <= rounds; round += 1) {
    // A service in use has compiled what it does all day, and sign-ins are part of that.
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

/** Milliseconds of each keepalive; they leave on time, however long the responses take. */
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
