import { createHash } from "node:crypto";
import { expect } from "chai";
import { aCondition } from "#test/factories/gameSession.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { aUser, type TestUser } from "#test/factories/catalog.ts";
import type { GameSessionStatus, StoredSave } from "#contracts/crd/gameSession.ts";
import type { GameDetail } from "#contracts/http/catalog.ts";
import { saveKey, savesPrefix } from "#contracts/objectKeys.ts";
import { updateGameSessionStopRequested } from "#api/gameSessions/sessions/gameSessionQueries.ts";
import { recordGameSession } from "#api/gameSessions/recording/recordGameSession.ts";
import { freePlayers, releaseSlots } from "#api/gameSessions/recording/releaseSlots.ts";
import { listSaveVersions, type SaveVersion } from "#api/saves/saveVersionQueries.ts";
import { sweepSaves } from "#api/saves/sweepSaves.ts";
import { eventually } from "../clocks/eventually.ts";
import type { ApiClient, ApiResponse } from "../http/apiClient.ts";
import type { ModelSave, ModelSession, ModelSlot } from "./savesModel.ts";
import type { SavesFixture } from "./savesFixture.ts";

const soon = { intervalMs: 5 };

/** Players of a history, and the actions of players, node agents, the operator and the leader. */
export class SavesWorld {
  readonly fixture: SavesFixture;
  readonly users: readonly TestUser[];
  readonly #players: readonly ApiClient[];
  #packs = 0;

  private constructor(fixture: SavesFixture, users: readonly TestUser[]) {
    this.fixture = fixture;
    this.users = users;
    this.#players = users.map((user) => fixture.api.as(user));
  }

  static async start(fixture: SavesFixture, players: number): Promise<SavesWorld> {
    fixture.setStoreUp(true);
    fixture.setClusterWritable(true);
    const { prisma } = fixture.api.deps.postgres;
    const endedAt = new Date();
    // Sessions of earlier histories must not affect this one.
    await prisma.gameSession.updateMany({
      where: { slotReleasedAt: null },
      data: { status: "stopped", endedAt, recordedAt: endedAt, slotReleasedAt: endedAt },
    });
    await prisma.saveSweep.deleteMany();
    return new SavesWorld(
      fixture,
      await Promise.all(Array.from({ length: players }, () => aUser(fixture.api.deps))),
    );
  }

  player(index: number): ApiClient {
    const player = this.#players[index];
    if (player === undefined) throw new Error(`There is no player ${index}.`);
    return player;
  }

  launch(player: number, saveSlotId: string | undefined): Promise<ApiResponse> {
    return this.player(player).post("/api/game/launch", {
      gameSlug: this.fixture.game.slug,
      ...(saveSlotId === undefined ? { fresh: true } : { saveSlotId }),
    });
  }

  async makeReady(id: string): Promise<void> {
    await this.fixture.operator.makeReady(id);
    await this.record(id);
  }

  /** As a node agent, packs the session's save into the object store without reporting it. */
  async pack(session: ModelSession): Promise<ModelSave> {
    const { id, sequence, attempt } = session;
    const {
      saveSlot: { slotId, generation },
    } = (await this.fixture.operator.session(id)).spec;
    const key = saveKey(slotId, { generation: generation + 1, gameSession: id, sequence, attempt });
    await this.fixture.minio.client.putObject(this.fixture.minio.bucket, key, archiveOf(key));
    return { key, sequence, attempt, order: this.#packs++ };
  }

  /**
   * As a node agent, reports the session's newest stored pack. `isLast` means that the game has ended and no
   * newer pack follows.
   */
  async report(session: ModelSession, isLast: boolean): Promise<void> {
    const { id, stored } = session;
    const save = stored && storedSaveOf(stored);
    const status: GameSessionStatus = { ...(save !== undefined && { save: { ...save, final: isLast } }) };
    if (isLast)
      await this.fixture.operator.finish(id, { ...status, conditions: [aCondition("SavePersisted")] });
    else await this.fixture.operator.report(id, status);
    await this.record(id);
  }

  /** As the operator, ends the session although its last save is not stored. */
  async finishUnsaved(id: string): Promise<void> {
    await this.fixture.operator.finish(id, {
      conditions: [aCondition("SavePersisted", { status: "False", reason: "StoreUnreachable" })],
    });
    await this.record(id);
  }

  async loseNode(id: string): Promise<void> {
    const failure = { reason: "NodeLost", message: "Its node is gone." };
    await this.fixture.operator.finish(id, {
      stopReason: "NodeLost",
      failure,
      conditions: [aCondition("SavePersisted", { status: "Unknown" })],
    });
    await this.record(id);
  }

  /** Does the same for an ended session, whose object then contains only the node. */
  async loseNodeAfterEnd(id: string): Promise<void> {
    await this.fixture.operator.report(id, { nodeName: this.fixture.lostNode });
    await this.record(id);
  }

  /** As the player, requests a stop without waiting for the end. */
  async requestStop({ id, player }: ModelSession): Promise<void> {
    const { postgres } = this.fixture.api.deps;
    expect(
      await updateGameSessionStopRequested(postgres.pool, id, this.users[player]?.id ?? "", "UserRequested"),
    ).to.equal(true);
  }

  async untilAskedToStop(id: string): Promise<void> {
    await eventually(async () => (await this.fixture.operator.session(id)).spec.desiredState === "Stopped", {
      ...soon,
      what: "the request to stop",
    });
  }

  /** As the leader, reconciles the session with its current state in the cluster. */
  async record(id: string): Promise<void> {
    const {
      api: { deps },
      operator,
    } = this.fixture;
    const { resourceVersion } = (await operator.session(id)).metadata;
    await eventually(() => deps.cluster.gameSession(id)?.metadata.resourceVersion === resourceVersion, {
      ...soon,
      what: "the API to see the session",
    });
    await recordGameSession(deps, id);
  }

  /** As the leader, releases all slots that can be released: none without the object store. */
  async release(isStoreUp: boolean): Promise<void> {
    await expectUp(isStoreUp, () => releaseSlots(this.fixture.api.deps));
  }

  /** Advances time by a minute for players who are waiting for the end of their session. */
  async passMinute(): Promise<void> {
    await this.#shift("stopping_at", "60 seconds");
    await freePlayers(this.fixture.api.deps);
  }

  /**
   * Advances time by a day and then by an hour since the end of sessions whose last save is missing. The
   * leader runs after each.
   */
  async passDay(isStoreUp: boolean): Promise<void> {
    await this.passMinute();
    await this.#shift("ended_at", "24 hours 5 minutes");
    await this.release(isStoreUp);
    await this.#shift("ended_at", "1 hour");
    await this.release(true);
  }

  /** As the leader, runs the sweeps that are due at that time. */
  async sweep(laterHours: number, isStoreUp: boolean): Promise<void> {
    const { deps } = this.fixture.api;
    const until = new Date(Date.now() + laterHours * 3600_000);
    await deps.postgres.prisma.saveSweep.updateMany({
      where: { dueAt: { lte: until } },
      data: { dueAt: new Date() },
    });
    await expectUp(isStoreUp, () => sweepSaves(deps, () => Promise.resolve(until)));
  }

  /** As the leader, sweeps every slot with a scheduled sweep, two hours later. */
  async sweepAll(): Promise<void> {
    const { deps } = this.fixture.api;
    await deps.postgres.prisma.saveSweep.updateMany({ data: { dueAt: new Date() } });
    await this.sweep(2, true);
  }

  /** Returns the keys of all versions of the slots. */
  async recordedKeys(slotIds: readonly string[]): Promise<Set<string>> {
    return new Set(
      (await listSaveVersions(this.fixture.api.deps.postgres.pool, slotIds)).map(
        ({ objectKey }) => objectKey,
      ),
    );
  }

  /** As the player, restores a version of the slot. Returns it, if there is one. */
  async restore(
    { id, player, current }: ModelSlot,
    nth: number,
  ): Promise<{ response: ApiResponse; version: SaveVersion; isOwn: boolean } | undefined> {
    const versions = await listSaveVersions(this.fixture.api.deps.postgres.pool, [id]);
    const version = versions[nth % Math.max(1, versions.length)];
    if (version === undefined) return undefined;
    const own = versions.find(
      ({ kind, objectKey }) => (kind === "played" || kind === "restored") && objectKey === current,
    );
    return {
      version,
      isOwn: version === own,
      response: await this.player(player).post(`${this.#slotPath(id)}/restore`, { versionId: version.id }),
    };
  }

  deleteSlot({ id, player }: ModelSlot): Promise<ApiResponse> {
    return this.player(player).delete(this.#slotPath(id));
  }

  #slotPath(slotId: string): string {
    return `/api/games/${this.fixture.game.slug}/saves/${slotId}`;
  }

  async detail(player: number): Promise<GameDetail> {
    return (await this.player(player).get(`/api/games/${this.fixture.game.slug}`)).json<GameDetail>();
  }

  async activeSessions(player: number): Promise<string[]> {
    const { sessions } = (await this.player(player).get("/api/game/sessions")).json<{
      sessions: { sessionId: string }[];
    }>();
    return sessions.map(({ sessionId }) => sessionId);
  }

  /** Returns the keys of the slot's objects. */
  async objects(slotId: string): Promise<Set<string>> {
    const { client, bucket } = this.fixture.minio;
    const items = (await client.listObjectsV2(bucket, savesPrefix(slotId), true).toArray()) as {
      name: string;
    }[];
    return new Set(items.map(({ name }) => name));
  }

  async #shift(column: "stopping_at" | "ended_at", interval: string): Promise<void> {
    await this.fixture.api.deps.postgres.pool.query(
      `UPDATE game_sessions SET ${column} = ${column} - $1::interval WHERE slot_released_at IS NULL`,
      [interval],
    );
  }
}

/** Returns the content of a pack, unique to its key. */
function archiveOf(key: string): Buffer {
  return aTarGz([{ name: "save", body: key }]);
}

function storedSaveOf({ key, sequence }: ModelSave): StoredSave {
  const content = archiveOf(key);
  const generation = Number(/\/(\d+)-/.exec(key)?.[1]);
  return {
    objectKey: key,
    sha256: createHash("sha256").update(content).digest("hex"),
    bytes: content.length,
    generation,
    sequence,
    persistedAt: new Date().toISOString(),
    final: false,
  };
}

/** Expects that the work fails without the object store, or does nothing. */
async function expectUp(isUp: boolean, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (isUp) throw error;
  }
}
