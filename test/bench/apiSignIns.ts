import { setTimeout as delay } from "node:timers/promises";
import { LoadClient } from "./http/load.ts";
import { SignInClient } from "./http/signInClient.ts";
import type { BenchStage } from "./http/stage.ts";
import { atMostRow, belowRow, median, percentile, type BenchRow } from "./row.ts";

const rounds = 3;
const keepalivesPerSecond = 200;
const warmUpMs = 6_000;
/** With those that are measured no more than an address may send in a minute. */
const warmUpSignIns = 3;
const quietMs = 3_000;
const signIns = 16;

/** A3: what players notice of sign-ins: the slowest keepalives, and the longest that the event loop stands still. */
export async function measureSignIns(stage: BenchStage): Promise<BenchRow[]> {
  const before: number[] = [];
  const during: number[] = [];
  const stalls: number[] = [];
  const signInClient = new SignInClient();
  for (let round = 0; round < rounds; round += 1) {
    const api = await stage.startApi();
    const clients = stage.players.map((player) => new LoadClient(player, api.port));
    const keptAlive = async (work: Promise<unknown>): Promise<number> => percentile(await keepalivesDuring(clients, work), 0.99);
    await signInClient.signIn(api.port, stage.players.slice(signIns, signIns + warmUpSignIns)); // as to a service in use
    await keptAlive(delay(warmUpMs));
    before.push(await keptAlive(delay(quietMs)));
    await api.stallMs();
    during.push(await keptAlive(signInClient.signIn(api.port, stage.players.slice(0, signIns))));
    stalls.push(await api.stallMs());
    for (const client of clients) client.close();
    await api.stop();
  }
  signInClient.close();
  return [
    atMostRow(`A3 keepalive p99 during ${signIns} sign-ins, before them`, median(during), median(before), 2),
    belowRow(`A3 event-loop stall during ${signIns} sign-ins`, median(stalls), 20),
  ];
}

/** Milliseconds of each keepalive; they leave on time, however long the answers take. */
async function keepalivesDuring(clients: readonly LoadClient[], work: Promise<unknown>): Promise<number[]> {
  const under = { way: true };
  const worked = work.finally(() => under.way = false);
  const startedMs = performance.now();
  const answers: Promise<number>[] = [];
  while (under.way) {
    const client = clients[answers.length % clients.length];
    if (client === undefined) throw new Error("There is no player.");
    answers.push(timed(client));
    await delay(Math.max(0, startedMs + answers.length * (1000 / keepalivesPerSecond) - performance.now()));
  }
  await worked;
  return Promise.all(answers);
}

async function timed(client: LoadClient): Promise<number> {
  const startedMs = performance.now();
  await client.send({ method: "POST", path: "/api/game/keepalive", body: JSON.stringify({ sessionId: client.player.gameSessionId }) });
  return performance.now() - startedMs;
}
