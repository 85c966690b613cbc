import { setTimeout as delay } from "node:timers/promises";
import type { ServedProgram } from "./http/servedProgram.ts";
import { LoadClient } from "./http/load.ts";
import type { BenchPlayer, BenchStage } from "./http/stage.ts";
import { countRow, median, type BenchRow } from "./row.ts";

const rounds = 3;
const keepalivesPerSecond = 200;
const warmUpMs = 1_000;
const quietMs = 3_000;
const signIns = 16;

/** A3: what players notice of sign-ins: the slowest keepalives, and the longest that the event loop stands still. */
export async function measureSignIns(stage: BenchStage): Promise<BenchRow[]> {
  const ratios: number[] = [];
  const stalls: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const api = await stage.startApi();
    await keepalivesDuring(stage, api, delay(warmUpMs));
    const before = await keepalivesDuring(stage, api, delay(quietMs));
    await api.stallMs();
    const during = await keepalivesDuring(stage, api, Promise.all(stage.players.slice(0, signIns).map((player) => signIn(api, player))));
    stalls.push(await api.stallMs());
    ratios.push(p99(during) / p99(before));
    await api.stop();
  }
  return [
    countRow(`A3 keepalive p99 during ${signIns} sign-ins to before`, median(ratios), 2),
    countRow(`A3 event-loop stall during ${signIns} sign-ins, ms`, median(stalls), 20),
  ];
}

/** Milliseconds of each keepalive; they leave on time, however long the answers take. */
async function keepalivesDuring({ players }: BenchStage, { port }: ServedProgram, work: Promise<unknown>): Promise<number[]> {
  const clients = players.map((player) => new LoadClient(player, port));
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
  const milliseconds = await Promise.all(answers);
  for (const client of clients) client.close();
  return milliseconds;
}

async function timed(client: LoadClient): Promise<number> {
  const startedMs = performance.now();
  await client.send({ method: "POST", path: "/api/game/keepalive", body: JSON.stringify({ sessionId: client.player.gameSessionId }) });
  return performance.now() - startedMs;
}

async function signIn({ port }: ServedProgram, { user: { email, password } }: BenchPlayer): Promise<void> {
  const origin = `http://127.0.0.1:${port}`;
  const csrf = await fetch(`${origin}/api/auth/csrf`);
  const { csrfToken } = await csrf.json() as { csrfToken: string };
  const answer = await fetch(`${origin}/api/auth/callback/credentials`, {
    method: "POST", redirect: "manual", headers: { cookie: csrf.headers.getSetCookie()[0]?.split(";", 1)[0] ?? "" },
    body: new URLSearchParams({ email, password, csrfToken, json: "true" }),
  });
  if (answer.status !== 200) throw new Error(`A sign-in was answered with ${answer.status}: ${await answer.text()}`);
}

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? 0;
}
