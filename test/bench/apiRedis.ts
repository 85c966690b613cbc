import { LoadClient, sendAll } from "./http/load.ts";
import type { BenchFixture } from "./http/fixture.ts";
import { countRow, type BenchRow } from "./row.ts";

const requestsPerPlayer = 20;

/** A6: what one request of a signed-in player asks of Redis, for its sign-in and its limit together. */
export async function countRedisCommands(fixture: BenchFixture): Promise<BenchRow> {
  const api = await fixture.startApi();
  const clients = fixture.players.map((player) => new LoadClient(player, api.port));
  const list = { method: "GET", path: "/api/games" } as const;
  // The first request of each asks the database for the sign-in, and what it says is kept for a minute from
  // now.
  await fixture.deps.redis.flushdb();
  await sendAll(clients, clients.length, () => list);
  const monitor = await fixture.deps.redis.monitor();
  let commands = 0;
  // Those that a script runs inside Redis are no round trips.
  monitor.on("monitor", (_time: string, [name = ""]: string[], source: string) => {
    if (source !== "lua" && name.toLowerCase() !== "ping") commands += 1;
  });
  const requests = clients.length * requestsPerPlayer;
  await sendAll(clients, requests, () => list);
  monitor.disconnect();
  for (const client of clients) client.close();
  await api.stop();
  return countRow("A6 Redis commands per request", commands / requests, 1);
}
