import { expect } from "chai";
import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import {
  aGame,
  aGameSessionRow,
  aSaveSlot,
  aUser,
  type TestGame,
  type TestUser,
} from "#test/factories/catalog.ts";
import { aCondition, aGameSessionSpec } from "#test/factories/gameSession.ts";
import { launchGame } from "#api/gameSessions/launching/launchGame.ts";
import { relayGameSessions } from "#api/gameSessions/recording/relay.ts";
import { recordGameSession } from "#api/gameSessions/recording/recordGameSession.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";

function aSave(slotId: string, sequence: number, overrides: Partial<StoredSave> = {}): StoredSave {
  return {
    objectKey: saveKey(slotId, { generation: 1, gameSession: "gs-a", sequence, attempt: 1 }),
    sha256: String(sequence).repeat(64),
    bytes: 100,
    generation: 1,
    sequence,
    persistedAt: new Date().toISOString(),
    final: false,
    ...overrides,
  };
}

/** Between a launch's commit and the creation of its object. */
const uncreated = { status: "starting", crCreatedAt: null, readyAt: null, expiresAt: null } as const;

describe("recorder, relay and sweeper", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;
  let game: TestGame;
  let user: TestUser;

  before(async () => {
    fixture = await LaunchFixture.start({ minio: true });
    ({ api, operator } = fixture);
  });
  beforeEach(async () => {
    game = await aGame(api.deps);
    user = await aUser(api.deps);
  });
  after(() => fixture.stop());

  async function running(): Promise<string> {
    const { id } = await launchGame(api.deps, user.id, { gameSlug: game.slug });
    await fixture.makeReady(id);
    return id;
  }

  async function slotOf(id: string) {
    return api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({
      where: { id: (await fixture.rowOf(id)).slotId! },
    });
  }

  it("record each newer save in the slot, and no older one", async () => {
    const id = await running();
    const { id: slot } = await slotOf(id);
    await operator.report(id, { save: aSave(slot, 1) });
    await eventually(async () =>
      expect(await slotOf(id)).to.include({
        generation: 1,
        sequence: 1,
        savedBySession: id,
        label: "Playthrough 1",
      }),
    );
    await operator.report(id, { save: aSave(slot, 3) });
    await eventually(async () =>
      expect(await slotOf(id)).to.include({ sequence: 3, objectKey: `saves/${slot}/1-gs-a-3.1.tar.gz` }),
    );
    await operator.finish(id, { save: aSave(slot, 4, { final: true }) });
    await eventually(async () => expect(await slotOf(id)).to.include({ sequence: 4 }));
    await operator.report(id, { save: aSave(slot, 2) });
    await recordGameSession(api.deps, id);
    expect(await slotOf(id)).to.include({ sequence: 4 });
  });

  it("leave a launch alone if its object exists, however late the database learns of it", async () => {
    const id = await running();
    await api.deps.postgres.pool.query(
      "UPDATE game_sessions SET status = 'starting', ready_at = NULL, cr_created_at = NULL, started_at = now() - interval '1 hour' WHERE id = $1",
      [id],
    );
    await relayGameSessions(api.deps);
    await recordGameSession(api.deps, id);
    expect((await fixture.rowOf(id)).status).to.equal("running");
    expect((await operator.session(id)).spec.desiredState).to.equal("Running");
  });

  it("cap a slot's play time reported by a node at now", async () => {
    const id = await running();
    const { id: slot } = await slotOf(id);
    await operator.report(id, {
      save: aSave(slot, 1, { persistedAt: new Date(Date.now() + 365 * 86_400_000).toISOString() }),
    });
    await eventually(async () => expect(await slotOf(id)).to.include({ sequence: 1 }));
    expect((await slotOf(id)).lastPlayedAt.getTime()).to.be.at.most(Date.now());
  });

  it("reject and count a save with the key of another slot or of none, and continue", async () => {
    const id = await running();
    const { id: slot } = await slotOf(id);
    const { id: theirs } = await aSaveSlot(api.deps, { user: await aUser(api.deps), game });
    const count = async (): Promise<number> =>
      Number(
        /^joypod_refused_save_reports_total (\d+)$/m.exec(await api.deps.metrics.registry.metrics())?.[1],
      );
    const stolen = aSave(theirs, 1).objectKey;
    await operator.sessions.mergePatch(
      { name: id, namespace: api.kube!.sessionsNamespace },
      { spec: { saveRequestedAt: new Date().toISOString() } },
    );
    const {
      spec: { saveRequestedAt },
    } = await operator.session(id);
    const strangeKeys = [
      stolen,
      `saves/${slot}/../${stolen.slice("saves/".length)}`,
      `saves/${slot}x/1-gs-a-1.1.tar.gz`,
      "archives/game/upload.tar.gz",
    ];
    for (const objectKey of strangeKeys) {
      const seen = await count();
      await operator.report(id, { save: aSave(slot, 1, { objectKey, requestedAt: saveRequestedAt }) });
      await eventually(async () => expect(await count(), objectKey).to.be.above(seen));
      expect(await slotOf(id), objectKey).to.include({ objectKey: null, generation: 0 });
    }
    expect(api.logLines.join(""))
      .to.contain("The recorder rejected a save")
      .and.contain(`"objectKey":"${stolen}"`);
    await operator.report(id, { save: aSave(slot, 2) });
    await eventually(async () => expect(await slotOf(id)).to.include({ sequence: 2 }));
    expect(
      await api.deps.postgres.prisma.saveVersion.count({ where: { objectKey: { in: strangeKeys } } }),
      "versions",
    ).to.equal(0);
  });

  it("keep one version for each request that was made, and none for invented ones", async () => {
    const id = await running();
    const { id: slot } = await slotOf(id);
    let sequence = 0;
    const versionsAfter = async (requestedAt: string): Promise<number> => {
      await operator.report(id, { save: aSave(slot, ++sequence, { requestedAt }) });
      // One after the other: what came of the first is there once the second is.
      await operator.report(id, { save: aSave(slot, ++sequence, { requestedAt }) });
      await eventually(async () => expect(await slotOf(id)).to.include({ sequence }));
      return api.deps.postgres.prisma.saveVersion.count({ where: { slotId: slot, kind: "requested" } });
    };
    const asked = new Date();
    const invented = new Date(asked.getTime() + 1_000).toISOString();
    expect(await versionsAfter(invented), "before any request").to.equal(0);
    await operator.sessions.mergePatch(
      { name: id, namespace: api.kube!.sessionsNamespace },
      { spec: { saveRequestedAt: asked.toISOString() } },
    );
    expect(await versionsAfter(invented), "of a later one").to.equal(0);
    await operator.report(id, { save: aSave(slot, ++sequence, { requestedAt: asked.toISOString() }) });
    await eventually(async () =>
      expect(
        await api.deps.postgres.prisma.saveVersion.count({ where: { slotId: slot, kind: "requested" } }),
      ).to.equal(1),
    );
  });

  it("record an end exactly once, then remove the object's finalizer", async () => {
    const id = await running();
    await operator.finish(id, {
      usage: { durationSeconds: 10, cpuSeconds: 5, peakMemoryBytes: 100 * 2 ** 20 },
    });
    await eventually(
      async () => !(await operator.session(id)).metadata.finalizers?.includes(finalizers.recorder),
    );
    await Promise.all(Array.from({ length: 10 }, () => recordGameSession(api.deps, id)));
    expect(await fixture.rowOf(id)).to.include({
      status: "stopped",
      durationSeconds: 10,
      cpuSeconds: 5,
      peakMemoryMb: 100,
    });
    const profile = await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id: game.id } });
    expect(profile).to.include({ profileSessions: 1, profileCpuMillicores: 500, profilePeakMemoryMb: 100 });
  });

  it("add later sessions to the game's profile with less weight", async () => {
    for (const cpuSeconds of [10, 0]) {
      const id = await running();
      await operator.finish(id, { usage: { durationSeconds: 10, cpuSeconds, peakMemoryBytes: 2 ** 20 } });
      await fixture.ended(id);
    }
    const profile = await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id: game.id } });
    expect(profile.profileSessions).to.equal(2);
    expect(profile.profileCpuMillicores).to.be.closeTo(700, 1e-6);
  });

  it("ignore a very short session for averages, but not for the highest memory", async () => {
    const long = { durationSeconds: 10, cpuSeconds: 10, peakMemoryBytes: 2 ** 20 };
    const short = { durationSeconds: 0.1, cpuSeconds: 5, peakMemoryBytes: 2 ** 30 };
    for (const usage of [long, short]) {
      const id = await running();
      await operator.finish(id, { usage });
      await fixture.ended(id);
      expect(await fixture.rowOf(id)).to.include({
        durationSeconds: usage.durationSeconds,
        cpuSeconds: usage.cpuSeconds,
      });
    }
    const profile = await api.deps.postgres.prisma.game.findUniqueOrThrow({ where: { id: game.id } });
    expect(profile).to.include({
      profileSessions: 1,
      profileCpuMillicores: 1000,
      profilePeakMemoryMb: 1,
      profileDurationSeconds: 10,
      profileHighestMemoryMb: 1024,
    });
  });

  it("keep the object and the slot while the last save is still on its node", async () => {
    const id = await running();
    await operator.finish(id, {
      conditions: [aCondition("SavePersisted", { status: "False", reason: "StoreUnreachable" })],
    });
    await fixture.ended(id);
    expect((await operator.session(id)).metadata.finalizers).to.include(finalizers.recorder);
    await operator.finish(id, { save: aSave((await slotOf(id)).id, 7, { final: true }) });
    await eventually(async () => expect(await slotOf(id)).to.include({ sequence: 7 }));
    await eventually(
      async () => !(await operator.session(id)).metadata.finalizers?.includes(finalizers.recorder),
    );
  });

  it("record the operator's reason for a session that kubectl deletes", async () => {
    const id = await running();
    await operator.sessions.delete({ name: id, namespace: api.kube!.sessionsNamespace });
    await eventually(async () =>
      expect(await fixture.rowOf(id)).to.include({ status: "stopping", stopReason: "Deleted" }),
    );
    await operator.finish(id, { stopReason: "Deleted" });
    await eventually(async () =>
      expect(await fixture.rowOf(id)).to.include({ status: "stopped", stopReason: "Deleted" }),
    );
    await eventually(async () => (await operator.findSession(id)) === undefined);
  });

  it("record a session as lost if its object was removed by force", async () => {
    const [ran, starting] = [
      await running(),
      (await launchGame(api.deps, (await aUser(api.deps)).id, { gameSlug: game.slug })).id,
    ];
    // An object that nobody has seen yet would be made anew.
    await eventually(async () => (await fixture.rowOf(starting)).crCreatedAt !== null);
    for (const id of [ran, starting]) await operator.vanish(id);
    await eventually(async () =>
      expect(await fixture.rowOf(ran)).to.include({ status: "stopped", stopReason: "NodeLost" }),
    );
    await eventually(async () =>
      expect(await fixture.rowOf(starting)).to.include({ status: "error", slotId: null }),
    );
  });

  it("create the object of a launch whose process died before doing so", async () => {
    const { id } = await launchGame(api.deps, user.id, { gameSlug: game.slug });
    const { spec } = await operator.session(id);
    // As it was between the launch's commit and its create.
    const orphan = "gs-00000000000000000001";
    await operator.finish(id);
    await fixture.ended(id);
    await aGameSessionRow(
      api.deps,
      { user, game },
      { id: orphan, spec, ...uncreated, startedAt: new Date(Date.now() - 10_000) },
    );
    await eventually(async () => (await operator.findSession(orphan)) !== undefined, {
      what: "the relay to create the object",
    });
    expect((await operator.session(orphan)).spec).to.deep.equal(spec);
    await eventually(async () => (await fixture.rowOf(orphan)).crCreatedAt !== null);
  });

  it("fail a launch whose object was not created in time", async () => {
    const { id } = await launchGame(api.deps, user.id, { gameSlug: game.slug });
    const { spec } = await operator.session(id);
    await operator.finish(id);
    await fixture.ended(id);
    const late = "gs-00000000000000000002";
    await aGameSessionRow(
      api.deps,
      { user, game },
      { id: late, spec, slotId: null, ...uncreated, startedAt: new Date(Date.now() - 200_000) },
    );
    await eventually(async () =>
      expect(await fixture.rowOf(late)).to.include({ status: "error", failureReason: "LaunchFailed" }),
    );
    expect(await operator.findSession(late)).to.be.undefined;
  });

  it("fail a launch at once if the cluster rejects its object, without delaying others", async () => {
    const { id } = await launchGame(api.deps, user.id, { gameSlug: game.slug });
    const { spec } = await operator.session(id);
    await operator.finish(id);
    await fixture.ended(id);
    const [refused, next] = ["gs-00000000000000000003", "gs-00000000000000000004"];
    await aGameSessionRow(
      api.deps,
      { user, game },
      {
        id: refused,
        spec: { ...spec, contentDigest: "none" },
        slotId: null,
        ...uncreated,
        startedAt: new Date(Date.now() - 20_000),
      },
    );
    await aGameSessionRow(
      api.deps,
      { user: await aUser(api.deps), game },
      { id: next, spec, ...uncreated, startedAt: new Date(Date.now() - 10_000) },
    );
    await eventually(async () => (await operator.findSession(next)) !== undefined, {
      what: "the relay to create the object of the later launch",
    });
    expect(await fixture.rowOf(refused)).to.include({ status: "error", failureReason: "LaunchFailed" });
  });

  it("stop an idle session but not one that is kept alive", async () => {
    const [idle, kept] = [
      await running(),
      (await launchGame(api.deps, (await aUser(api.deps)).id, { gameSlug: game.slug })).id,
    ];
    await fixture.makeReady(kept);
    await api.deps.postgres.prisma.gameSession.update({
      where: { id: idle },
      data: { expiresAt: new Date(Date.now() - 1) },
    });
    await eventually(async () =>
      expect((await operator.session(idle)).spec).to.include({
        desiredState: "Stopped",
        stopReason: "IdleTimeout",
      }),
    );
    expect(await fixture.rowOf(idle)).to.include({ status: "stopping", stopReason: "IdleTimeout" });
    expect(await fixture.rowOf(kept)).to.include({ status: "running" });
  });

  it("stop an API session without a row, and leave an admin's session alone", async () => {
    const [ours, admins] = ["gs-00000000000000000003", "by-hand"];
    const namespace = api.kube!.sessionsNamespace;
    await operator.sessions.create({
      metadata: { name: ours, namespace, finalizers: [finalizers.recorder] },
      spec: aGameSessionSpec(),
    });
    await operator.sessions.create({ metadata: { name: admins, namespace }, spec: aGameSessionSpec() });
    await eventually(async () => (await operator.session(ours)).spec.desiredState === "Stopped");
    await operator.finish(ours);
    await eventually(async () => !(await operator.session(ours)).metadata.finalizers?.length);
    expect((await operator.session(admins)).spec.desiredState).to.equal("Running");
  });
});
