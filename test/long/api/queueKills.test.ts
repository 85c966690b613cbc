import { expect } from "chai";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { leases } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { ApiClient, ApiResponse } from "#test/support/http/apiClient.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { createRandom } from "#test/support/model/simulatedQueue.ts";

const players = 50;
const slots = 2;
/** Each costs the lease's six seconds without a leader, and the start of a process. */
const kills = 8;
const patienceMs = 420_000;

/** `SEED` is that of a failed run. */
const given = process.env["SEED"];
const seed = given === undefined ? Date.now() % 2 ** 31 : Number(given);

describe(`fifty players on two slots, while the processes of the API are killed (seed ${seed})`, function () {
  this.timeout(600_000);
  const random = createRandom(seed);
  let fixture: LaunchFixture;
  let processes: ApiProcess[];
  /** Identity of the process that leads. */
  let leader: () => Promise<string | undefined>;
  const hasEnded = new AbortController();

  before(async () => {
    fixture = await LaunchFixture.start({ slots, isLed: true, hasFaults: true });
    const { server } = fixture.api.kube ?? {};
    if (server === undefined) throw new Error("The API was started without a cluster.");
    // The API in this process leads nowhere. The others compete for a lease in a namespace of their own.
    const namespace = await server.createNamespace("release");
    processes = await Promise.all(
      ["one", "two"].map((name) =>
        ApiProcess.beside(fixture.api, {
          KUBECONFIG: server.kubeconfigPath,
          POD_NAMESPACE: namespace,
          POD_NAME: name,
          POLLS_PER_MINUTE: "100000",
        }),
      ),
    );
    const client = new ResourceClient(server.admin, leases);
    leader = async () => (await client.find({ namespace, name: "joypod-api" }))?.spec?.holderIdentity;
  });
  after(async () => {
    hasEnded.abort();
    await Promise.all(processes.map((each) => each.stop()));
    await fixture.stop();
  });

  /** A player with a connection to each process. */
  interface Player {
    user: TestUser;
    clients: ApiClient[];
    sessionId: string;
    positions: number[];
  }

  /** Sends the request to one process after another until one responds. */
  async function ask(clients: readonly ApiClient[], send: (client: ApiClient) => Promise<ApiResponse>) {
    let turn = Math.floor(random() * clients.length);
    return eventually(
      async () => {
        const response = await send(clients[turn++ % clients.length]!);
        return response.status < 500 ? response : undefined;
      },
      { what: "a response of any process", timeoutMs: 60_000 },
    );
  }

  /** Waits, confirms the seat and plays, as a page that polls. Resolves at the session's end. */
  async function follow({ clients, sessionId, positions }: Player): Promise<string> {
    return eventually(
      async () => {
        const { status, queue } = (
          await ask(clients, (client) => client.get(`/api/game/session-status?sessionId=${sessionId}`))
        ).json<GameSessionStatusResponse>();
        if (queue !== undefined) {
          positions.push(queue.position);
          await ask(clients, (client) => client.post("/api/game/keepalive", { sessionId }));
        }
        if (queue?.confirmBy !== undefined)
          await ask(clients, (client) => client.post("/api/game/confirm", { sessionId }));
        return (status === "stopped" || status === "error") && status;
      },
      { what: `the end of ${sessionId}`, timeoutMs: patienceMs, intervalMs: 1_000 },
    );
  }

  /** Runs `step` repeatedly until the players have played. */
  async function repeatedly(step: () => Promise<void>): Promise<void> {
    await eventually(
      async () => {
        if (!hasEnded.signal.aborted) await step();
        return hasEnded.signal.aborted;
      },
      { timeoutMs: 2 * patienceMs, intervalMs: 100 },
    );
  }

  /** Lets sessions run and end at random, and at times does nothing, like an operator that is killed. */
  async function operate(): Promise<void> {
    const { operator, api } = fixture;
    let pausedUntilMs = 0;
    await repeatedly(async () => {
      if (performance.now() < pausedUntilMs) return;
      if (random() < 0.03) pausedUntilMs = performance.now() + random() * 3_000;
      for (const { metadata, status } of api.deps.cluster.gameSessions.cache.list()) {
        if (status?.phase === "Finished") continue;
        if (status?.readyAt === undefined) await operator.makeReady(metadata.name);
        else if (random() < 0.4) await operator.finish(metadata.name);
      }
    });
  }

  /** Kills the leader, or at times the other process, a random time after somebody began to lead. */
  async function kill(): Promise<number> {
    let killed = 0;
    let nextMs: number | undefined;
    await repeatedly(async () => {
      if (killed === kills) return;
      const leading = processes[["one", "two"].indexOf((await leader()) ?? "")];
      if (leading === undefined) return;
      nextMs ??= performance.now() + 2_000 + random() * 4_000;
      if (performance.now() < nextMs) return;
      const victim = random() < 0.75 ? leading : processes.find((each) => each !== leading)!;
      await victim.stop("SIGKILL");
      await victim.start();
      killed += 1;
      nextMs = undefined;
    });
    return killed;
  }

  it("play once each, in order of arrival, and no position ever grows", async () => {
    const { api, game } = fixture;
    const { pool, prisma } = api.deps.postgres;
    const all: Player[] = [];
    while (all.length < players) {
      const user = await aUser(api.deps);
      const clients = processes.map((each) => api.as(user, each));
      const response = await ask(clients, (client) =>
        client.post("/api/game/launch", { gameSlug: game.slug, wait: true }, { "idempotency-key": user.id }),
      );
      expect(response.status, response.text).to.equal(202);
      const { sessionId } = response.json<{ sessionId: string }>();
      all.push({ user, clients, sessionId, positions: [] });
    }
    const { rows } = await pool.query<{ id: string }>(
      "SELECT id FROM game_sessions WHERE queue_number IS NOT NULL ORDER BY queue_number",
    );
    const arrived = rows.map(({ id }) => id);
    expect(arrived).to.deep.equal(all.slice(slots).map(({ sessionId }) => sessionId));
    const background = Promise.all([operate(), kill()]);
    const ends = await Promise.all(all.map(follow)).finally(() => hasEnded.abort());
    const [, killed] = await background;
    expect(killed, "killed processes").to.be.at.least(kills / 2);
    expect(ends).to.deep.equal(Array<string>(players).fill("stopped"));
    for (const { sessionId, positions } of all)
      expect(positions, sessionId).to.deep.equal(positions.toSorted((a, b) => b - a));
    const sessions = await prisma.gameSession.findMany({ orderBy: { startedAt: "asc" } });
    expect(sessions).to.have.length(players);
    expect(new Set(sessions.map(({ userId }) => userId)).size).to.equal(players);
    expect(sessions.filter(({ readyAt }) => readyAt === null)).to.deep.equal([]);
    const started = sessions.filter(({ queuedAt }) => queuedAt !== null).map(({ id }) => id);
    // Players whose seats are ready at the same time confirm in any order.
    for (const [index, id] of started.entries())
      expect(Math.abs(arrived.indexOf(id) - index), `turn of ${id}`).to.be.lessThan(slots);
  });
});
