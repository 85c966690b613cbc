import { expect } from "chai";
import { confirmSeat } from "#api/gameSessions/queue/confirmSeat.ts";
import { serveQueue } from "#api/gameSessions/queue/serveQueue.ts";
import { launchGame } from "#api/gameSessions/launching/launchGame.ts";
import { recordGameSession } from "#api/gameSessions/recording/recordGameSession.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { startReplica, stopReplica } from "#test/support/http/replica.ts";
import { createRandom } from "#test/support/model/simulatedQueue.ts";

const players = 50;
const slots = 2;

describe("fifty players on two slots", function () {
  this.timeout(120_000);
  let fixture: LaunchFixture;
  let replica: TestApi;

  before(async () => {
    fixture = await LaunchFixture.start({ slots, isLed: true });
    replica = await startSynced();
  });
  after(async () => {
    await stopReplica(replica);
    await fixture.stop();
  });

  async function startSynced(): Promise<TestApi> {
    const started = await startReplica(fixture.api);
    await eventually(() =>
      started.deps.cluster.gameNodes.cache.list().some(({ status }) => status?.capacity !== undefined),
    );
    return started;
  }

  interface QueueEntry {
    id: string;
    userId: string;
    hasSeat: boolean;
  }

  async function queue(): Promise<QueueEntry[]> {
    const { rows } = await fixture.api.deps.postgres.pool.query<QueueEntry>(
      `SELECT id, user_id AS "userId", offered_at IS NOT NULL AS "hasSeat" FROM game_sessions WHERE queue_number IS NOT NULL ORDER BY queue_number`,
    );
    return rows;
  }

  it("play once each, in order of arrival, with every replica at work and one restarted", async () => {
    const random = createRandom(53);
    const { api, operator, game } = fixture;
    const anyOf = (): TestApi => (random() < 0.5 ? api : replica);
    const users: TestUser[] = [];
    while (users.length < players) users.push(await aUser(api.deps));
    const playing = new Set<string>();
    await Promise.all(
      users.map(async ({ id }) => {
        const launched = await launchGame(anyOf().deps, id, { gameSlug: game.slug, wait: true });
        if (!launched.isQueued) playing.add(launched.id);
      }),
    );
    expect(playing.size).to.equal(slots);
    const arrived = (await queue()).map(({ id }) => id);
    expect(arrived).to.have.length(players - slots);
    const started: string[] = [];
    let positions = new Map(arrived.map((id, index) => [id, index + 1]));

    const end = async (id: string): Promise<void> => {
      await operator.makeReady(id);
      await operator.finish(id);
      await eventually(async () => {
        await recordGameSession(api.deps, id);
        return (await fixture.rowOf(id)).recordedAt !== null;
      });
      playing.delete(id);
    };

    for (let round = 0; positions.size > 0 || playing.size > 0; round += 1) {
      expect(round, "rounds").to.be.lessThan(1000);
      if (round % 25 === 10) {
        await stopReplica(replica);
        replica = await startSynced();
      }
      await Promise.all([...playing].filter(() => random() < 0.7).map(end));
      // Two replicas that both take themselves for the leader.
      await Promise.all([serveQueue(api.deps), serveQueue(replica.deps)]);
      const entries = await queue();
      for (const [index, { id }] of entries.entries())
        expect(index + 1, `position of ${id}`).to.be.at.most(positions.get(id) ?? 0);
      positions = new Map(entries.map(({ id }, index) => [id, index + 1]));
      const offered = entries.filter(({ hasSeat }) => hasSeat);
      expect(playing.size + offered.length, "seats in use").to.be.at.most(slots);
      for (const { id, userId } of offered) {
        if (random() < 0.2) continue;
        const { deps } = anyOf();
        const [first, again] = await Promise.all([
          confirmSeat(deps, userId, id),
          confirmSeat(replica.deps, userId, id),
        ]);
        expect([first.isQueued, again.isQueued]).to.deep.equal([false, false]);
        started.push(id);
        playing.add(id);
        positions.delete(id);
      }
    }
    // A player may confirm a seat a little later than the next one.
    const early = started.map((id, index) => arrived.indexOf(id) - index);
    expect(Math.max(...early)).to.be.lessThan(slots);
    expect(started.toSorted()).to.deep.equal(arrived.toSorted());
    const rows = await api.deps.postgres.prisma.gameSession.findMany({ where: { gameId: game.id } });
    expect(new Set(rows.map(({ userId }) => userId)).size).to.equal(players);
    expect(rows).to.have.length(players);
    expect(rows.every(({ status, readyAt }) => status === "stopped" && readyAt !== null)).to.equal(true);
  });
});
