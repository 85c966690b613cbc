import { expect } from "chai";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { GameDetail } from "#contracts/http/catalog.ts";
import { aPartner, aUser, type TestUser } from "#test/factories/catalog.ts";
import { recordGameSession } from "#api/gameSessions/recording/recordGameSession.ts";
import { sweepIdle } from "#api/gameSessions/sessions/stopIdleSessions.ts";
import { asIfSwept } from "../fixtures/idleSweeps.ts";
import type { TestApi } from "../http/api.ts";
import type { ApiClient } from "../http/apiClient.ts";
import { anArchive, archivedGame } from "../fixtures/archives.ts";
import { eventually } from "../clocks/eventually.ts";
import type { FakeOperator } from "../cluster/fakeOperator.ts";
import { activeSession, slotsOf, type PlatformModel } from "./platformModel.ts";

const ranks = { starting: 0, running: 1, stopping: 2, stopped: 3, error: 3 };

/** Runs the same commands on the real platform: its API, with the users and the partner of a run. */
export class RealPlatform {
  readonly api: TestApi;
  readonly operator: FakeOperator;
  readonly users: TestUser[];
  readonly players: ApiClient[];
  readonly partner: ApiClient;
  readonly #furthest = new Map<string, number>();

  private constructor(api: TestApi, operator: FakeOperator, users: TestUser[], partner: ApiClient) {
    this.api = api;
    this.operator = operator;
    this.users = users;
    this.players = users.map((user) => api.as(user));
    this.partner = partner;
  }

  static async start(api: TestApi, operator: FakeOperator, users: number): Promise<RealPlatform> {
    const people = await Promise.all(Array.from({ length: users }, () => aUser(api.deps)));
    return new RealPlatform(api, operator, people, api.asPartner(await aPartner(api.deps)));
  }

  player(user: number): ApiClient {
    const player = this.players[user];
    if (player === undefined) throw new Error(`There is no user ${user}.`);
    return player;
  }

  async registerGame(): Promise<{ id: string; slug: string }> {
    const response = await this.partner.post("/api/partners/games", {
      title: "Model",
      slug: `model-${crypto.randomUUID().slice(0, 13)}`,
      developer: "Model",
      ...archivedGame,
    });
    expect(response.status, response.text).to.equal(201);
    return response.json<{ id: string; slug: string }>();
  }

  /** Uploads a valid archive of the game, and returns its checksum. */
  async upload(slug: string): Promise<string> {
    const response = await this.partner.put(`/api/partners/games/${slug}/upload`, await anArchive(), {
      "content-type": "application/gzip",
    });
    expect(response.status, response.text).to.equal(200);
    return response.json<{ checksum: string }>().checksum.replace("sha256:", "");
  }

  async statusOf(user: number, sessionId: string): Promise<GameSessionStatusResponse> {
    const response = await this.player(user).get(`/api/game/session-status?sessionId=${sessionId}`);
    expect(response.status, response.text).to.equal(200);
    return response.json<GameSessionStatusResponse>();
  }

  async detailOf(user: number, slug: string): Promise<GameDetail | undefined> {
    const response = await this.player(user).get(`/api/games/${slug}`);
    expect(response.status).to.be.oneOf([200, 404]);
    return response.status === 200 ? response.json<GameDetail>() : undefined;
  }

  /** Ends the session like the operator, once a stop is requested. */
  async finishWhenAsked(id: string): Promise<void> {
    await eventually(async () => (await this.operator.session(id)).spec.desiredState === "Stopped");
    await this.operator.finish(id, {
      usage: { durationSeconds: 10, cpuSeconds: 5, peakMemoryBytes: 2 ** 27 },
    });
  }

  /**
   * Advances time without keepalives. The database's clock cannot be changed, so the expiry is moved instead.
   */
  async passIdleTime(sessionId: string, seconds: number): Promise<boolean> {
    await this.api.deps.postgres.pool.query(
      "UPDATE game_sessions SET expires_at = expires_at - make_interval(secs => $2) WHERE id = $1",
      [sessionId, seconds],
    );
    await asIfSwept(this.api.deps);
    const swept = await sweepIdle(this.api.deps);
    for (const id of swept) await recordGameSession(this.api.deps, id);
    return (
      (await this.api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } }))
        .status !== "running"
    );
  }

  /** Checks, through the HTTP interface, what must hold after every command. */
  async check(model: PlatformModel): Promise<void> {
    const { rows } = await this.api.deps.postgres.pool.query(
      "SELECT user_id FROM game_sessions WHERE status IN ('starting', 'running', 'stopping') GROUP BY user_id HAVING count(*) > 1",
    );
    expect(rows, "users with two active sessions").to.have.length(0);
    // Sessions that ended long ago are no longer checked.
    await Promise.all(
      model.sessions
        .slice(-2 * this.users.length)
        .map((session) => this.#checkForward(session.user, session.id)),
    );
    await Promise.all(this.users.map((_, user) => this.#checkUser(model, user)));
  }

  async #checkForward(user: number, id: string): Promise<void> {
    const rank = ranks[(await this.statusOf(user, id)).status];
    expect(rank, `status of ${id}`).to.be.at.least(this.#furthest.get(id) ?? 0);
    this.#furthest.set(id, rank);
  }

  async #checkUser(model: PlatformModel, user: number): Promise<void> {
    const { sessions } = (await this.player(user).get("/api/game/sessions")).json<{
      sessions: { sessionId: string }[];
    }>();
    const active = activeSession(model, user);
    expect(
      sessions.map(({ sessionId }) => sessionId),
      "active sessions",
    ).to.deep.equal(active === undefined ? [] : [active.id]);
    for (const [game, { slug, status }] of model.games.entries()) {
      const detail = await this.detailOf(user, slug);
      expect(detail !== undefined, `${slug} is ${status}`).to.equal(status === "active");
      if (detail === undefined) continue;
      expect(detail.isFavorite, `favourite of ${user}`).to.equal(model.favorites.has(`${user} ${game}`));
      const expected = slotsOf(model, user, game)
        .map(({ number }) => number)
        .toSorted();
      expect(
        detail.saveSlots.filter(({ id }) => id !== null).map(({ slotNumber }) => slotNumber),
        "slots in use",
      ).to.deep.equal(expected);
    }
    await this.#checkSaves(model, user);
  }

  async #checkSaves(model: PlatformModel, user: number): Promise<void> {
    const stored = await this.api.deps.postgres.prisma.saveSlot.findMany({
      where: { userId: this.users[user]?.id ?? "" },
      include: { game: true },
    });
    for (const [game, { slug }] of model.games.entries()) {
      for (const { number, generation } of slotsOf(model, user, game)) {
        const slot = stored.find((each) => each.game.slug === slug && each.number === number);
        expect(slot?.generation, `saves in slot ${number} of ${slug}`).to.equal(generation);
      }
    }
  }
}
