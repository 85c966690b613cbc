import { LoadClient, sendAll, type LoadRequest } from "./http/load.ts";
import type { ServedProgram } from "./http/servedProgram.ts";
import type { BenchPlayer, BenchFixture } from "./http/fixture.ts";
import { atMostRow, median, type BenchRow } from "./row.ts";

/** Compilation and memory layout vary by chance and last for the life of a process: some are 10 % slower. */
const processes = 4;
const rounds = Number(process.env["ROUNDS"] ?? 40);
const requestsPerRound = 250;
/** Warm-up until the programs are compiled: over 20,000 requests, the time of each program falls to half. */
const warmUpRounds = 80;

const measured: Record<string, (player: BenchPlayer) => LoadRequest> = {
  keepalive: ({ gameSessionId }) => ({
    method: "POST",
    path: "/api/game/keepalive",
    body: JSON.stringify({ sessionId: gameSessionId }),
  }),
  "GET /api/games": () => ({ method: "GET", path: "/api/games" }),
};

/**
 * A1: processor time per request of the whole API, compared with peers that do the same work on the same
 * stores: check the token and the sign-in, count the request in Redis, run the statement, renew the cookie,
 * send the same headers. None of them logs requests. The ratio is the median over rounds. Requests of a round
 * follow within a second, because the machine's speed may change by a third within seconds.
 */
export async function measureApiCpu(fixture: BenchFixture): Promise<BenchRow[]> {
  const names = Object.keys(measured);
  const measurements = new Map(names.map((name) => [name, [[], [], []] as number[][]]));
  for (let count = 0; count < processes; count += 1) {
    const programs = [
      await fixture.startApi(),
      await fixture.startPeer("fastify"),
      await fixture.startPeer("bare"),
    ];
    for (const [name, requestOf] of Object.entries(measured)) {
      const perRequest = await cpuPerRequest(fixture, programs, requestOf);
      perRequest.forEach((milliseconds, index) => measurements.get(name)?.[index]?.push(...milliseconds));
    }
    await Promise.all(programs.map((program) => program.stop()));
  }
  return names.flatMap((name) => {
    const [ours = [], fastify = [], bare = []] = measurements.get(name) ?? [];
    const rowOf = (peer: string, times: readonly number[], atMost: number): BenchRow => {
      const ratios = ours.map((milliseconds, round) => milliseconds / (times[round] ?? 0));
      return atMostRow(`A1 CPU of ${name}, ${peer}`, median(ours), median(times), atMost, median(ratios));
    };
    return [rowOf("fastify + jwt + rate-limit", fastify, 1), rowOf("bare node:http", bare, 1.35)];
  });
}

/** Returns the milliseconds of each program per round, with the programs alternating. */
async function cpuPerRequest(
  { players }: BenchFixture,
  programs: readonly ServedProgram[],
  requestOf: (player: BenchPlayer) => LoadRequest,
): Promise<number[][]> {
  const clients = programs.map(({ port }) => players.map((player) => new LoadClient(player, port)));
  const measurements = programs.map((): number[] => []);
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const [index, program] of programs.entries()) {
      const before = program.cpuMs;
      await sendAll(clients[index] ?? [], requestsPerRound, requestOf);
      if (round >= 0) measurements[index]?.push((program.cpuMs - before) / requestsPerRound);
    }
  }
  for (const client of clients.flat()) client.close();
  return measurements;
}
