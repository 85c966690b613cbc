import { LoadClient, sendAll } from "./http/load.ts";
import type { BenchFixture } from "./http/fixture.ts";
import { countRow, type BenchRow } from "./row.ts";

const requestsPerPlayer = 20;

/** A6: Redis commands per request of a signed-in player, for its sign-in and its rate limit together. */
export async function countRedisCommands(fixture: BenchFixture): Promise<BenchRow> {
  const api = await fixture.startApi();
  const clients = fixture.players.map((player) => new LoadClient(player, api.port));
  const list = { method: "GET", path: "/api/games" } as const;
  // The first request of each player reads the sign-in from the database, and caches it for a minute.
  await fixture.deps.redis.flushdb();
  await sendAll(clients, clients.length, () => list);
  const monitor = await fixture.deps.redis.monitor();
  let commands = 0;
  // Commands that a script runs inside Redis are not round trips.
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
