import { expect } from "chai";
import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import { aGame, aPartner, aUser, type TestGame, type TestPartner } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

const path = "/api/partners/games";
const metadata = { developer: "Test Studio", launcher: "play.sh", engineDir: "engine" };
const mebibyte = 2 ** 20;
const outOfMemory = {
  stopReason: "Failed",
  failure: { reason: "OutOfMemory", message: "The game exceeded its memory limit and was killed." },
} as const;

describe("resources of a game", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let partner: TestPartner;
  let game: TestGame;
  let client: ApiClient;

  before(async () => {
    fixture = await LaunchFixture.start({
      env: {
        LAUNCHES_PER_MINUTE: "100",
        GAME_MEMORY_MB_MAX: "8192",
        GAME_CPUS_MAX: "4",
        GAME_GPU_SHARE_MAX: "2",
      },
    });
    ({ api } = fixture);
  });
  beforeEach(async () => {
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
    game = await aGame(api.deps, { partnerId: partner.id });
    await fixture.newPlayer();
  });
  after(() => fixture.stop());

  /** The spec of a session of the game that another player launches. */
  async function launchedSpec() {
    await fixture.newPlayer();
    const id = await fixture.launched({ gameSlug: game.slug });
    return { id, ...(await fixture.operator.session(id)).spec };
  }

  /** The memory limit, in MiB, of a session of the game, which ends with that status. */
  async function playedLimit(status: GameSessionStatus): Promise<number | undefined> {
    const {
      id,
      resources: { memoryLimitBytes },
    } = await launchedSpec();
    await fixture.operator.finish(id, status);
    await fixture.ended(id);
    return memoryLimitBytes === undefined ? undefined : memoryLimitBytes / mebibyte;
  }

  it("are registered, shown, replaced as a whole and withdrawn", async () => {
    const slug = `big-${partner.keyId}`;
    const resources = { memoryMb: 4096, cpus: 2.5, gpuShare: 2, resolution: { width: 1024, height: 768 } };
    const created = await client.post(path, { ...metadata, title: "Big", slug, resources });
    expect(created.status, created.text).to.equal(201);
    const before = await client.get(`${path}/${slug}`);
    expect(before.json()).to.deep.include({ resources });
    const changed = await client.patch(`${path}/${slug}`, { resources: { memoryMb: 2048 } });
    expect(changed.json()).to.deep.include({ resources: { memoryMb: 2048 } });
    expect(changed.headers.get("etag"), "the tag follows them").to.not.equal(before.headers.get("etag"));
    expect(
      (await client.patch(`${path}/${slug}`, { title: "Bigger" })).json(),
      "others' changes leave them",
    ).to.deep.include({ resources: { memoryMb: 2048 } });
    expect((await client.patch(`${path}/${slug}`, { resources: null })).json()).to.deep.include({
      resources: null,
    });
  });

  it("are refused with 400 and the field's name if they are malformed or exceed the site's maximum", async () => {
    for (const [field, resources] of [
      ["resources.memoryMb", { memoryMb: 8193 }],
      ["resources.memoryMb", { memoryMb: 127 }],
      ["resources.memoryMb", { memoryMb: "4096" }],
      ["resources.memoryMb", { memoryMb: 1e9 }],
      ["resources.cpus", { cpus: 4.25 }],
      ["resources.cpus", { cpus: 0.3 }],
      ["resources.cpus", { cpus: 0 }],
      ["resources.gpuShare", { gpuShare: 3 }],
      ["resources.gpuShare", { gpuShare: 0 }],
      ["resources.gpuShare", { gpuShare: 0.5 }],
      ["resources.resolution.width", { resolution: { width: 2560, height: 1080 } }],
      ["resources.resolution.height", { resolution: { width: 640, height: 1440 } }],
      ["resources.resolution.height", { resolution: { width: 640 } }],
      ["resources.resolution.width", { resolution: { width: 641, height: 480 } }],
      ["resources", { disk: 1 }],
      ["resources", 4096],
    ] as const) {
      for (const response of [
        await client.patch(`${path}/${game.slug}`, { resources }),
        await client.post(path, { ...metadata, title: "Bad", slug: `bad-${partner.keyId}`, resources }),
      ]) {
        expectErrorResponse(response, 400, "invalid_request");
        expect(
          response.json<{ details: { path: string }[] }>().details.map((detail) => detail.path),
          JSON.stringify(resources),
        ).to.deep.equal([field]);
      }
    }
    expect((await client.get(`${path}/${game.slug}`)).json()).to.deep.include({ resources: null });
    expect((await client.get(path)).json()).to.include({ total: 1 });
    const beyond = await client.patch(`${path}/${game.slug}`, { resources: { memoryMb: 9000, cpus: 8 } });
    expect(beyond.json<{ message: string }>().message)
      .to.contain("must be at most 8192")
      .and.to.contain("games.resources.max");
  });

  it("apply to the first session", async () => {
    const resources = { memoryMb: 4096, cpus: 2.5, gpuShare: 2, resolution: { width: 1024, height: 768 } };
    expect((await client.patch(`${path}/${game.slug}`, { resources })).status).to.equal(200);
    const spec = await launchedSpec();
    expect(spec.resources).to.deep.equal({
      cpuMillicores: 2500,
      memoryBytes: 4096 * mebibyte,
      memoryLimitBytes: 4096 * mebibyte,
      gpuShare: 1,
    });
    expect(spec.stream).to.include({ width: 1024, height: 768, framesPerSecond: 60 });
  });

  it("raise a game's memory limit at its next launch when it ran out of memory, up to the site's maximum", async () => {
    const limits = [
      await playedLimit(outOfMemory),
      await playedLimit(outOfMemory),
      await playedLimit(outOfMemory),
      await playedLimit(outOfMemory),
      await playedLimit(outOfMemory),
    ];
    expect(limits).to.deep.equal([1024, 2048, 4096, 8192, 8192]);
    expect((await client.patch(`${path}/${game.slug}`, { resources: { memoryMb: 2048 } })).status).to.equal(
      200,
    );
    expect(await playedLimit(outOfMemory), "a new declaration").to.equal(2048);
    expect((await client.patch(`${path}/${game.slug}`, { resources: { memoryMb: 2048 } })).status).to.equal(
      200,
    );
    expect(await playedLimit({}), "the same declaration once more").to.equal(4096);
  });

  it("never fall below the memory that a session used, however many short sessions follow", async () => {
    await playedLimit({
      usage: { durationSeconds: 3600, cpuSeconds: 3600, peakMemoryBytes: 3000 * mebibyte },
    });
    const short = { usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 100 * mebibyte } };
    for (let session = 0; session < 5; session++) expect(await playedLimit(short)).to.equal(4500);
    const { resources } = await launchedSpec();
    expect(resources.memoryBytes, "what is reserved follows the average").to.be.below(1024 * mebibyte * 1.5);
    expect(resources.memoryLimitBytes).to.equal(4500 * mebibyte);
  });

  it("count the memory of a session that was never ready", async () => {
    await playedLimit({ usage: { durationSeconds: 0, cpuSeconds: 1, peakMemoryBytes: 2000 * mebibyte } });
    expect(await playedLimit({})).to.equal(3000);
  });
});

describe("POST /api/game/launch on nodes with little memory", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  beforeEach(async () => {
    fixture = await LaunchFixture.start({ slots: 0, env: { LAUNCHES_PER_MINUTE: "100" } });
  });
  afterEach(() => fixture.stop());

  /** A node with ten slots that says what sessions may request. */
  async function addNode(cpuMillicores: number, memoryMb: number): Promise<string> {
    const name = await fixture.addNode(10);
    const capacity = {
      offered: { cpuMillicores, memoryBytes: memoryMb * mebibyte },
      overhead: { cpuMillicores: 250, memoryBytes: 256 * mebibyte },
    };
    await fixture.operator.nodes.mergePatchStatus({ name }, { status: { capacity } });
    await eventually(() => fixture.api.deps.cluster.gameNode(name)?.status?.capacity?.offered !== undefined, {
      what: "the API to see what the node offers",
    });
    return name;
  }

  /**
   * What a player is told who launches the fixture's game, which takes 1024 + 256 + 256 MiB and 500m + 250m
   * unless it declares more.
   */
  async function launchError(): Promise<{ message: string; lack?: string }> {
    await fixture.newPlayer();
    const response = await fixture.player.post("/api/game/launch", { gameSlug: fixture.game.slug });
    expectErrorResponse(response, 503, "no_servers");
    expect(response.headers.get("retry-after")).to.equal("10");
    return response.json();
  }
  const isPlaced = (id: string): boolean => {
    const { sessionLoads } = fixture.api.deps.cluster;
    return sessionLoads.has(id) && sessionLoads.unplaced().length === 0;
  };

  const launch = async (): Promise<string> => {
    await fixture.newPlayer();
    return fixture.launched();
  };

  it("names the exhausted resource, even before sessions are placed", async () => {
    await addNode(8000, 3072);
    const first = await launch();
    const launched = await Promise.all([launchStatus(), launchStatus(), launchStatus()]);
    expect(launched.toSorted(), "those that come together").to.deep.equal([202, 503, 503]);
    expect(await launchError()).to.include({
      lack: "memory",
      message:
        "This game needs 1536 MiB of memory. No server has that much left right now. Try again in a moment.",
    });
    await fixture.operator.finish(first);
    await fixture.ended(first);
    await launch();
  });

  it("counts sessions where they were placed", async () => {
    const small = await addNode(8000, 2000);
    await addNode(800, 8000);
    const first = await launch();
    await fixture.operator.report(first, { nodeName: small });
    await eventually(() => isPlaced(first), { what: "the API to see the place" });
    await launch();
    expect(await launchError()).to.include({ lack: "memory" });
  });

  it("keeps a node's room while sessions continue on a cordoned node", async () => {
    const cordoned = await fixture.addNode(1);
    const first = await launch();
    await fixture.operator.report(first, { nodeName: cordoned });
    await fixture.operator.nodes.mergePatchStatus(
      { name: cordoned },
      { status: { capacity: { schedulable: false } } },
    );
    const { cluster } = fixture.api.deps;
    await eventually(
      () => isPlaced(first) && cluster.gameNode(cordoned)?.status?.capacity?.schedulable === false,
      { what: "the API to see both" },
    );
    expect(await launchError()).to.include({
      message: "All game servers are in use. Try again in a moment.",
    });
    await fixture.addNode(1);
    await launch();
    expect(await launchError()).to.include({
      message: "All game servers are in use. Try again in a moment.",
    });
  });

  it("reports when no node is large enough for the game", async () => {
    await addNode(700, 8000);
    expect(await launchError()).to.include({
      lack: "processors",
      message: "This game needs 0.75 processors. No server here is large enough.",
    });
    await addNode(8000, 1024);
    expect(await launchError()).to.include({
      message: "This game needs 1536 MiB of memory and 0.75 processors. No server here is large enough.",
    });
  });

  it("requests the default if the average usage fits no node", async () => {
    await addNode(2000, 4096);
    const known = await aGame(fixture.api.deps);
    const profile = {
      profileSessions: 1,
      profileCpuMillicores: 3000,
      profilePeakMemoryMb: 5000,
      profileHighestMemoryMb: 5000,
    };
    await fixture.api.deps.postgres.prisma.game.update({ where: { id: known.id }, data: profile });
    await fixture.newPlayer();
    const { spec } = await fixture.operator.session(await fixture.launched({ gameSlug: known.slug }));
    expect(spec.resources).to.deep.equal({
      cpuMillicores: 500,
      memoryBytes: 1024 * mebibyte,
      memoryLimitBytes: 7500 * mebibyte,
      gpuShare: 1,
    });
  });

  it("reports that all servers are in use if only slots are missing", async () => {
    await fixture.addNode(1);
    await launch();
    expect(await launchError())
      .to.deep.include({ message: "All game servers are in use. Try again in a moment." })
      .and.to.not.have.property("lack");
  });

  async function launchStatus(): Promise<number> {
    const player = fixture.api.as(await aUser(fixture.api.deps));
    return (await player.post("/api/game/launch", { gameSlug: fixture.game.slug })).status;
  }
});
