import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import type { GameSessionStatus, StoredSave } from "#contracts/crd/gameSession.ts";
import { limits } from "#contracts/limits.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import { recordGameSession } from "#api/gameSessions/recording/recordGameSession.ts";
import { releaseSlots } from "#api/gameSessions/recording/releaseSlots.ts";
import { deleteSaveVersions } from "#api/saves/saveSweepQueries.ts";
import { insertSlotVersion, listSaveVersions, lockSlot } from "#api/saves/saveVersionQueries.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse } from "#test/support/http/apiClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";

const nodeLost: GameSessionStatus = {
  stopReason: "NodeLost",
  failure: { reason: "NodeLost", message: "Its node is gone." },
  conditions: [aCondition("SavePersisted", { status: "Unknown" })],
};
const notStored = [aCondition("SavePersisted", { status: "False", reason: "StoreUnreachable" })];

describe("a slot's owner", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;

  before(async () => {
    fixture = await LaunchFixture.start({
      minio: true,
      hasFaults: true,
      env: { LAUNCHES_PER_MINUTE: "100" },
    });
    ({ api, operator } = fixture);
  });
  beforeEach(() => fixture.newPlayer());
  after(() => fixture.stop());

  /** As the node agent, stores a save of the session, and tells nobody. */
  async function store(
    id: string,
    sequence: number,
    attempt = 1,
    content: Buffer = Buffer.from(`save ${sequence}.${attempt} of ${id}`),
  ): Promise<StoredSave> {
    const {
      saveSlot: { slotId, generation: base },
    } = (await operator.session(id)).spec;
    const generation = base + 1;
    const objectKey = saveKey(slotId, { generation, gameSession: id, sequence, attempt });
    await api.minio!.client.putObject(api.minio!.bucket, objectKey, content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    return {
      objectKey,
      sha256,
      bytes: content.length,
      generation,
      sequence,
      persistedAt: new Date().toISOString(),
      final: false,
    };
  }

  /** The same, and reports it. */
  async function save(id: string, sequence: number, attempt = 1): Promise<StoredSave> {
    const stored = await store(id, sequence, attempt);
    await operator.report(id, { save: stored });
    await eventually(() => api.deps.cluster.gameSession(id)?.status?.save?.objectKey === stored.objectKey);
    await recordGameSession(api.deps, id);
    return stored;
  }

  async function slotIdOf(id: string): Promise<string> {
    return (await operator.session(id)).spec.saveSlot.slotId;
  }

  async function slotOf(id: string) {
    return api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: await slotIdOf(id) } });
  }

  async function versionsOf(id: string) {
    return listSaveVersions(api.deps.postgres.pool, [await slotIdOf(id)]);
  }

  /**
   * Waits for the session to have given its slot back, in passes that follow each other sooner than the
   * leader's.
   */
  function released(id: string): Promise<unknown> {
    return eventually(
      async () => {
        await releaseSlots(api.deps).catch(() => []);
        return (await fixture.rowOf(id)).slotReleasedAt !== null;
      },
      { what: "the slot to be released" },
    );
  }

  it("is the session in progress: a lost session that returns leaves a conflict copy", async () => {
    const lost = await fixture.running();
    const first = await save(lost, 1);
    await operator.finish(lost, nodeLost);
    await eventually(async () => (await fixture.rowOf(lost)).slotReleasedAt !== null, {
      what: "the leader to release the slot",
    });
    const live = await fixture.running();
    expect((await operator.session(live)).spec.saveSlot).to.include({ objectKey: first.objectKey });

    const late = await save(lost, 2);
    await operator.finish(lost, { save: late, conditions: [aCondition("SavePersisted")] });
    const acknowledged = await save(live, 1);
    await operator.finish(live, { save: acknowledged });
    await fixture.ended(live);
    await recordGameSession(api.deps, lost);

    const next = await fixture.launched();
    expect((await operator.session(next)).spec.saveSlot, "what the next session starts from").to.include({
      objectKey: acknowledged.objectKey,
    });
    const versions = await versionsOf(next);
    expect(versions.map(({ kind, objectKey }) => [kind, objectKey])).to.have.deep.members([
      ["played", first.objectKey],
      ["played", acknowledged.objectKey],
      ["conflict", late.objectKey],
    ]);
    expect(
      versions.filter(({ supersededAt }) => supersededAt !== null).map(({ objectKey }) => objectKey),
    ).to.deep.equal([first.objectKey]);
    const metrics = await api.deps.metrics.registry.metrics();
    expect(metrics).to.match(/^joypod_save_conflicts_total 1$/m);
    expect(api.logLines.some((line) => line.includes("conflict copy") && line.includes(lost))).to.be.true;
  });

  it("keeps its slot while its last save may arrive, and releases it then", async () => {
    const id = await fixture.running();
    await operator.finish(id, { conditions: notStored });
    await fixture.ended(id);
    const saveSlotId = await slotIdOf(id);
    expectErrorResponse(
      await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, saveSlotId }),
      409,
      "conflict",
    );
    const last = await store(id, 4);
    await operator.finish(id, { save: last });
    await released(id);
    expect((await operator.session(await fixture.launched({ saveSlotId }))).spec.saveSlot).to.include({
      objectKey: last.objectKey,
      generation: 1,
    });
  });

  it("keeps its slot when its node agent is silent at the end", async () => {
    const id = await fixture.running();
    await save(id, 1);
    await operator.finish(id, {
      conditions: [aCondition("SavePersisted", { status: "Unknown", reason: "NodeAgentSilent" })],
    });
    await fixture.ended(id);
    const saveSlotId = await slotIdOf(id);
    expectErrorResponse(
      await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, saveSlotId }),
      409,
      "conflict",
    );
  });

  it("keeps its slot for its last save even if an admin sets it to finished", async () => {
    const id = await fixture.running();
    await save(id, 1);
    await operator.report(id, { conditions: [aCondition("Finished", { reason: "ByHand" }), ...notStored] });
    await fixture.ended(id);
    expect(await releaseSlots(api.deps)).to.not.include(id);
    const last = await save(id, 2);
    expect(await slotOf(id)).to.include({ objectKey: last.objectKey });
  });

  it("on a lost node releases the slot with the newest save in the object store", async () => {
    const id = await fixture.running();
    await save(id, 1);
    const unreported = [await store(id, 2), await store(id, 2, 2)].at(-1)!;
    await api.minio!.stop();
    try {
      await operator.finish(id, nodeLost);
      await fixture.ended(id);
      const saveSlotId = await slotIdOf(id);
      expectErrorResponse(
        await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, saveSlotId }),
        409,
        "conflict",
      );
    } finally {
      await api.minio!.start();
    }
    await released(id);
    expect(await slotOf(id)).to.include({
      objectKey: unreported.objectKey,
      sha256: unreported.sha256,
      sequence: 2,
      attempt: 2,
    });
    const { spec } = await operator.session(await fixture.launched());
    expect(spec.saveSlot).to.include({ objectKey: unreported.objectKey, sha256: unreported.sha256 });
  });

  /**
   * A session on a node of its own that has ended without its last save, and for a reason other than its
   * node.
   */
  async function endedUnsaved(): Promise<{ id: string; node: string }> {
    const [node, id] = [await fixture.addNode(1), await fixture.launched()];
    await operator.makeReady(id, { node });
    await operator.finish(id, {
      failure: { reason: "SaveNotStored", message: "Its node agent is silent." },
      conditions: notStored,
    });
    await fixture.ended(id);
    return { id, node };
  }

  const losses: [string, (node: string) => Promise<void>][] = [
    ["declared lost", (node) => operator.loseNode(node)],
    ["removed from the cluster", (node) => operator.removeNode(node)],
  ];
  for (const [what, befall] of losses) {
    it(`whose node is ${what} after its end releases the slot with the newest save in the object store; a later save becomes a conflict copy`, async () => {
      const { id, node } = await endedUnsaved();
      const noise = randomBytes(6_000_000);
      const [saveSlotId, unreported] = [
        await slotIdOf(id),
        await store(
          id,
          2,
          1,
          aTarGz([
            { name: "world.dat", body: noise },
            { name: "slot.dat", body: "1" },
          ]),
        ),
      ];
      expectErrorResponse(
        await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, saveSlotId }),
        409,
        "conflict",
      );
      await befall(node);
      await released(id);
      const next = await fixture.launched({ saveSlotId });
      const { spec } = await operator.session(next);
      expect(spec.saveSlot).to.include({ objectKey: unreported.objectKey, sha256: unreported.sha256 });
      // In whole pages. So it needs no more room than any other session.
      expect(await slotOf(id)).to.include({
        unpackedBytes: BigInt((Math.ceil(noise.length / 4096) + 1) * 4096),
      });
      expect(spec.saveVolumeBytes).to.equal(limits.save.volumeBytes.default);

      const late = await save(id, 3);
      expect((await versionsOf(next)).map(({ kind, objectKey }) => [kind, objectKey])).to.have.deep.members([
        ["played", unreported.objectKey],
        ["conflict", late.objectKey],
      ]);
    });
  }

  it("keeps its slot while its node is silent together with most others, or is no longer a game node and has a save to store", async () => {
    const { id, node } = await endedUnsaved();
    const conditions = [
      aCondition("Lost", { status: "Unknown", reason: "BrakeHolds" }),
      aCondition("Draining"),
    ];
    await operator.nodes.mergePatchStatus({ name: node }, { status: { conditions } });
    await eventually(() => api.deps.cluster.gameNode(node)?.status?.conditions?.length === 2, {
      what: "the API to see the node",
    });
    await releaseSlots(api.deps);
    expect((await fixture.rowOf(id)).slotReleasedAt).to.equal(null);
  });

  it("that vanished during its start is looked up in the object store before its new slot is removed", async () => {
    const empty = await fixture.launched();
    await eventually(async () => (await fixture.rowOf(empty)).crCreatedAt !== null);
    const emptySlot = await slotIdOf(empty);
    await operator.vanish(empty);
    await released(empty);
    expect(await api.deps.postgres.prisma.saveSlot.count({ where: { id: emptySlot } })).to.equal(0);

    const id = await fixture.launched();
    await eventually(async () => (await fixture.rowOf(id)).crCreatedAt !== null);
    const [slotId, stored] = [await slotIdOf(id), await store(id, 1)];
    await operator.vanish(id);
    await released(id);
    const slot = await api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({ where: { id: slotId } });
    expect(slot).to.include({ objectKey: stored.objectKey, generation: 1, savedBySession: id });
  });

  it("loses the slot a day after its end; a later save becomes a conflict copy", async () => {
    const id = await fixture.running();
    await operator.finish(id, { conditions: notStored });
    await fixture.ended(id);
    const slotId = await slotIdOf(id);
    const dayAgo = new Date(Date.now() - 25 * 3600_000);
    await api.deps.postgres.prisma.gameSession.update({ where: { id }, data: { endedAt: dayAgo } });
    await released(id);
    const next = await fixture.launched({ saveSlotId: slotId });
    const late = await save(id, 1);
    expect((await versionsOf(next)).map(({ kind, objectKey }) => [kind, objectKey])).to.deep.equal([
      ["conflict", late.objectKey],
    ]);
  });

  it("frees its player within a minute of the stop, and is counted once when it has ended", async () => {
    const id = await fixture.running();
    await fixture.player.post("/api/game/keepalive", { sessionId: id });
    const { pool, prisma } = api.deps.postgres;
    const before = await prisma.game.findUniqueOrThrow({ where: { id: fixture.game.id } });
    await pool.query(
      "UPDATE game_sessions SET status = 'stopping', stop_reason = 'UserRequested', stopping_at = now() - interval '60 seconds' WHERE id = $1",
      [id],
    );
    await fixture.ended(id);
    expect(await fixture.rowOf(id)).to.include({ status: "stopped", recordedAt: null, slotReleasedAt: null });
    const saveSlotId = await slotIdOf(id);
    expectErrorResponse(
      await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug, saveSlotId }),
      409,
      "conflict",
    );
    const other = await fixture.launched({ fresh: true });
    expect((await operator.session(other)).spec.saveSlot.number).to.equal(2);

    const last = await store(id, 1);
    await operator.finish(id, {
      save: last,
      usage: { durationSeconds: 20, cpuSeconds: 5, peakMemoryBytes: 100 * 2 ** 20 },
    });
    await released(id);
    await Promise.all(Array.from({ length: 5 }, () => recordGameSession(api.deps, id)));
    expect(await fixture.rowOf(id)).to.include({
      status: "stopped",
      durationSeconds: 20,
      cpuSeconds: 5,
      peakMemoryMb: 100,
    });
    expect(
      (await prisma.game.findUniqueOrThrow({ where: { id: fixture.game.id } })).profileSessions,
    ).to.equal(before.profileSessions + 1);
    expect(await slotOf(id)).to.include({ objectKey: last.objectKey });
  });

  it("ignores an earlier save of the session, or the same one from an earlier attempt", async () => {
    const id = await fixture.running();
    const newest = await save(id, 3, 2);
    for (const [sequence, attempt] of [
      [2, 3],
      [3, 1],
      [3, 2],
    ] as const)
      await save(id, sequence, attempt);
    expect(await slotOf(id)).to.include({ objectKey: newest.objectKey, generation: 1 });
    expect((await versionsOf(id)).map(({ objectKey }) => objectKey)).to.deep.equal([newest.objectKey]);
  });

  it("has one conflict copy, which is replaced by its later saves, however often they are reported", async () => {
    const lost = await fixture.running();
    await operator.finish(lost, nodeLost);
    await released(lost);
    for (const sequence of [1, 1, 2]) await save(lost, sequence);
    const latest = await save(lost, 3);
    await recordGameSession(api.deps, lost);
    const [copy, ...others] = await versionsOf(lost);
    expect(others).to.be.empty;
    expect(copy).to.include({ kind: "conflict", objectKey: latest.objectKey, supersededAt: null });
    expect(await slotOf(lost)).to.include({ objectKey: null, generation: 0 });
  });

  it("restores no superseded and removed save, nor one that the slot has under another key, while its session is reported", async () => {
    const { pool } = api.deps.postgres;
    const past = await fixture.running();
    const removed = await save(past, 1);
    await operator.finish(past, { save: removed, conditions: [aCondition("SavePersisted")] });
    await released(past);
    const next = await fixture.running();
    const kept = await save(next, 1);
    await operator.finish(next, { save: kept, conditions: [aCondition("SavePersisted")] });
    await released(next);
    const slotId = await slotIdOf(past);
    /** As the sweeper does with versions that are not kept. */
    const sweep = async (kind: string): Promise<void> => {
      const swept = (await versionsOf(past)).filter(
        (version) => version.kind === kind && version.objectKey === removed.objectKey,
      );
      await deleteSaveVersions(
        pool,
        slotId,
        swept.map(({ id }) => id),
      );
    };
    const reported = async () => {
      await recordGameSession(api.deps, past);
      return (await versionsOf(past)).map(({ kind, objectKey }) => [kind, objectKey]);
    };
    await api.deps.postgres.transaction(async (transaction) => {
      await lockSlot(transaction, slotId);
      await insertSlotVersion(transaction, slotId, { ...removed, unpackedBytes: null, kind: "restored" });
    });
    await sweep("played");
    expect(await reported()).to.have.deep.members([
      ["played", kept.objectKey],
      ["restored", removed.objectKey],
    ]);
    await sweep("restored");
    await api.minio!.client.removeObject(api.minio!.bucket, removed.objectKey);
    expect(await reported()).to.deep.equal([["played", kept.objectKey]]);
  });

  it("names the slot like its player", async () => {
    const id = await fixture.running();
    const { id: slotId } = await slotOf(id);
    await save(id, 1);
    expect((await slotOf(id)).label).to.equal("Playthrough 1");
    await api.deps.postgres.prisma.saveSlot.update({
      where: { id: slotId },
      data: { customLabel: "Before the dragon" },
    });
    await save(id, 2);
    expect((await slotOf(id)).label).to.equal("Before the dragon");
  });
});
