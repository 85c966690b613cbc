import { expect } from "chai";
import Mocha from "mocha";
import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import { finalizers, labels } from "#contracts/crd/names.ts";
import { pods as podType, type Pod } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { sha256Of } from "#test/support/fixtures/archives.ts";
import { TestApi } from "#test/support/http/api.ts";
import { directStores } from "#test/support/invariants/directStores.ts";
import { invariantHooks } from "#test/support/invariants/invariantHooks.ts";
import type { InvariantStores } from "#test/support/invariants/invariantStores.ts";
import { Invariants } from "#test/support/invariants/invariants.ts";
import { sharedMinio, type TestMinio } from "#test/support/stores/minio.ts";
import { aGame, aGameSessionRow, aSaveSlot, aUser, type TestGame } from "#test/factories/catalog.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";

const [save, archive] = [Buffer.from("a save"), Buffer.from("an archive")];

/** A minute and a little more. */
const longerThanAMinuteMs = 61_000;

describe("the checks of what holds at every moment", () => {
  let server: KubeApiServer;
  let minio: TestMinio;
  let api: TestApi;
  let namespace: string;
  let sessions: ResourceClient<GameSession>;
  let pods: ResourceClient<Pod>;
  let stores: InvariantStores;
  let invariants: Invariants;
  let nowMs = 0;

  before(async () => {
    [server, minio] = await Promise.all([sharedKubeApiServer(), sharedMinio()]);
    sessions = new ResourceClient(server.admin, gameSessions);
    pods = new ResourceClient(server.admin, podType);
  });
  after(() => minio.remove());
  beforeEach(async () => {
    [api, namespace] = await Promise.all([TestApi.start(), server.createNamespace("invariants")]);
    const {
      postgres: { pool },
    } = api.deps;
    stores = directStores({ pool, sessions, pods, namespace, minio });
    invariants = new Invariants(stores, { now: () => nowMs });
  });
  afterEach(() => api.stop());

  async function sql(text: string, ...values: unknown[]): Promise<void> {
    await api.deps.postgres.pool.query(text, values);
  }

  async function store(key: string, bytes: Buffer): Promise<void> {
    await minio.client.putObject(minio.bucket, key, bytes);
  }

  /** A game whose archive is in the object store. */
  async function aStoredGame(): Promise<TestGame> {
    const game = await aGame(api.deps);
    const { objectKey } = await api.deps.postgres.prisma.gameVersion.update({
      where: { id: game.versionId ?? "" },
      data: { sha256: sha256Of(archive) },
    });
    await store(objectKey, archive);
    return game;
  }

  async function anObject(name: string): Promise<void> {
    await sessions.create({
      metadata: { name, namespace, finalizers: [finalizers.recorder] },
      spec: aGameSessionSpec(),
    });
  }

  async function aPod(name: string, gameSession = name): Promise<void> {
    await pods.create({
      metadata: { name, namespace, labels: { [labels.gameSession]: gameSession } },
      spec: { containers: [{ name: "game", image: "game" }] },
    });
  }

  /** A session that is played, in a slot that has a save, with its object and its pod. */
  async function aPlayedSession(
    overrides: Parameters<typeof aGameSessionRow>[2] = {},
  ): Promise<{ id: string; slotId: string; objectKey: string; userId: string }> {
    const [user, game] = [await aUser(api.deps), await aStoredGame()];
    const { id: slotId } = await aSaveSlot(api.deps, { user, game });
    const objectKey = `saves/${slotId}/5-gs-before-1.1.tar.gz`;
    await store(objectKey, save);
    await sql(
      "UPDATE save_slots SET object_key = $2, sha256 = $3, bytes = $4, generation = 5 WHERE id = $1",
      slotId,
      objectKey,
      sha256Of(save),
      save.length,
    );
    const { id } = await aGameSessionRow(api.deps, { user, game }, { slotId, ...overrides });
    await anObject(id);
    await aPod(id);
    return { id, slotId, objectKey, userId: user.id };
  }

  async function violations(): Promise<string[]> {
    await invariants.look();
    return invariants.takeViolations();
  }

  /** Nothing at first, and this after a minute. */
  async function expectAfterAMinute(what: string): Promise<void> {
    expect(await violations(), "at once").to.deep.equal([]);
    nowMs += longerThanAMinuteMs;
    expect(await violations(), "after a minute").to.deep.equal([what]);
  }

  it("have nothing to say of a session that is played, for however long", async () => {
    await aPlayedSession();
    expect(await violations()).to.deep.equal([]);
    nowMs += 10 * longerThanAMinuteMs;
    expect(await violations()).to.deep.equal([]);
    await invariants.readObjects();
    expect(invariants.takeViolations()).to.deep.equal([]);
  });

  it("say once that a player has two active sessions (I1)", async () => {
    const { userId } = await aPlayedSession();
    const second = await aPlayedSession();
    await sql("DROP INDEX game_sessions_one_active");
    await sql("UPDATE game_sessions SET user_id = $2 WHERE id = $1", second.id, userId);
    expect(await violations()).to.deep.equal([`I1: user ${userId} has 2 active sessions.`]);
    expect(await violations()).to.deep.equal([]);
  });

  it("say after a minute that an active session has no object (I2)", async () => {
    const [user, game] = [await aUser(api.deps), await aStoredGame()];
    const { id } = await aGameSessionRow(api.deps, { user, game });
    await expectAfterAMinute(`I2: the active session ${id} has no object.`);
  });

  it("say after a minute that an object has no row (I2)", async () => {
    await anObject("gs-alone");
    await expectAfterAMinute("I2: the object gs-alone has no row.");
  });

  it("say after a minute that the object of an ended session is not removed (I2)", async () => {
    const { id } = await aPlayedSession({ status: "stopped", endedAt: new Date() });
    await expectAfterAMinute(`I2: the object ${id} of an ended session is not removed.`);
  });

  it("say after a minute that a pod has no session (I2)", async () => {
    await aPod("gs-alone");
    await expectAfterAMinute("I2: the pod gs-alone has no session.");
  });

  it("say at once that a session has two pods (I2)", async () => {
    const { id } = await aPlayedSession();
    await aPod("another", id);
    expect(await violations()).to.deep.equal([`I2: the session ${id} has 2 pods.`]);
  });

  it("say at once that a slot went back, or lost its save (I3)", async () => {
    const { slotId } = await aPlayedSession();
    expect(await violations()).to.deep.equal([]);
    await sql("UPDATE save_slots SET generation = 4 WHERE id = $1", slotId);
    expect(await violations()).to.deep.equal([`I3: the slot ${slotId} went back from generation 5 to 4.`]);
    await sql("UPDATE save_slots SET object_key = NULL, sha256 = NULL, bytes = NULL WHERE id = $1", slotId);
    expect(await violations()).to.deep.equal([`I3: the slot ${slotId} has lost its save.`]);
  });

  it("say of each slot whose save is missing, or has other bytes (I3)", async () => {
    const [missing, other] = [await aPlayedSession(), await aPlayedSession()];
    await minio.client.removeObject(minio.bucket, missing.objectKey);
    await store(other.objectKey, Buffer.from("something else"));
    await invariants.readObjects();
    expect(invariants.takeViolations()).to.have.members([
      `I3: the save of slot ${missing.slotId}, ${missing.objectKey}, is missing.`,
      `I3: the save of slot ${other.slotId}, ${other.objectKey}, has other bytes than were stored.`,
    ]);
  });

  it("say that the archive of a game has other bytes (I4)", async () => {
    const { versionId } = await aStoredGame();
    const { objectKey } = await api.deps.postgres.prisma.gameVersion.findUniqueOrThrow({
      where: { id: versionId ?? "" },
    });
    await store(objectKey, Buffer.from("something else"));
    await invariants.readObjects();
    expect(invariants.takeViolations()).to.deep.equal([
      `I4: the current archive, ${objectKey}, has other bytes than were stored.`,
    ]);
  });

  const ago = (seconds: number): Date => new Date(Date.now() - seconds * 1000);
  const deadlines: [string, Parameters<typeof aGameSessionRow>[2], (id: string) => string][] = [
    [
      "starts for longer than on two nodes",
      { status: "starting", startedAt: ago(400), readyAt: null },
      (id) => `I5: the session ${id} starts longer than it may.`,
    ],
    [
      "runs on after its expiry",
      { expiresAt: ago(5) },
      (id) => `I5: the session ${id} runs on after its expiry.`,
    ],
    [
      "keeps its player for a minute after the stop",
      { status: "stopping", stoppingAt: ago(65) },
      (id) => `I5: the session ${id} keeps its player for more than a minute after the stop.`,
    ],
  ];
  for (const [title, overrides, sentence] of deadlines) {
    it(`say after a minute that a session ${title} (I5)`, async () => {
      const { id } = await aPlayedSession(overrides);
      await expectAfterAMinute(sentence(id));
    });
  }

  it("say at once that a session has no deadline (I5)", async () => {
    const [starting, running, stopping] = [
      await aPlayedSession({ status: "starting", readyAt: null, spec: {} }),
      await aPlayedSession({ expiresAt: null }),
      await aPlayedSession({ status: "stopping", stoppingAt: null }),
    ];
    expect(await violations()).to.have.members([
      `I5: the starting session ${starting.id} has no deadline.`,
      `I5: the running session ${running.id} never expires.`,
      `I5: nobody knows since when the session ${stopping.id} stops.`,
    ]);
  });

  it("count the minute anew when a store was unavailable", async () => {
    let isUnavailable = false;
    invariants = new Invariants(
      { ...stores, pods: () => (isUnavailable ? Promise.reject(new Error("unavailable")) : stores.pods()) },
      { now: () => nowMs },
    );
    await aPod("gs-alone");
    expect(await violations()).to.deep.equal([]);
    isUnavailable = true;
    await violations().catch((error: unknown) => expect(error).to.have.property("message", "unavailable"));
    isUnavailable = false;
    nowMs += longerThanAMinuteMs;
    await expectAfterAMinute("I2: the pod gs-alone has no session.");
  });

  it("fail the test of a run during which something broke, and let the others run", async () => {
    const { userId } = await aPlayedSession();
    const second = await aPlayedSession();
    await sql("DROP INDEX game_sessions_one_active");
    let shown = 0;
    const outcome = await runTests(
      {
        "leaves things as they are": () => Promise.resolve(),
        "breaks something": () =>
          sql("UPDATE game_sessions SET user_id = $2 WHERE id = $1", second.id, userId),
        "comes after it": () => Promise.resolve(),
      },
      invariantHooks({
        open: () => Promise.resolve({ ...stores, close: () => undefined }),
        intervalMs: 50,
        onViolation: () => {
          shown++;
          return Promise.resolve();
        },
      }),
    );
    expect(outcome.ended).to.deep.equal(["leaves things as they are", "breaks something", "comes after it"]);
    expect(outcome.failed).to.have.all.keys("breaks something");
    expect(outcome.failed["breaks something"]).to.include(`I1: user ${userId} has 2 active sessions.`);
    expect(shown, "looks at the platform for the output").to.equal(1);
  });
});

/** Runs tests in a mocha of their own; returns which ended, and why some failed. */
async function runTests(
  tests: Record<string, () => Promise<void>>,
  hooks: Mocha.RootHookObject,
): Promise<{ ended: string[]; failed: Record<string, string> }> {
  const mocha = new Mocha({ reporter: Mocha.reporters.Base, timeout: 30_000 });
  mocha.rootHooks(hooks);
  const suite = Mocha.Suite.create(mocha.suite, "a run");
  for (const [title, test] of Object.entries(tests)) suite.addTest(new Mocha.Test(title, test));
  const [ended, failed]: [string[], Record<string, string>] = [[], {}];
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on(Mocha.Runner.constants.EVENT_TEST_END, ({ title }: Mocha.Test) => ended.push(title));
    runner.on(Mocha.Runner.constants.EVENT_TEST_FAIL, ({ title }: Mocha.Runnable, error: Error) => {
      failed[title] = error.message;
    });
  });
  return { ended, failed };
}
