import { expect } from "chai";
import type { CacheEntry } from "#contracts/crd/gameNode.ts";
import { installationLabel } from "#contracts/crd/installation.ts";
import { conditionStatusOf } from "#test/support/cluster/conditionStatusOf.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { storeArchive } from "#test/support/stores/storedArchive.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";

/** Interval at which an agent probes the object store. */
const probeEveryMs = 10_000;

describe("Node agent status reports", function () {
  this.timeout(60_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent((fresh) => {
    fixture = fresh;
  });

  it("wait for the GameNode, then include heartbeat, space and object store", async () => {
    const startedMs = Math.floor(Date.now() / 1000) * 1000;
    await fixture.startAgent();
    await fixture.createGameNode();
    const { status } = await eventually(
      async () => {
        const gameNode = await fixture.gameNode();
        return conditionStatusOf(gameNode, "StoreReachable") === "True" && gameNode;
      },
      { timeoutMs: 20_000, what: "the first report" },
    );
    expect(status?.cache).to.include({ capacityBytes: 2 ** 30 });
    expect(status?.cache?.freeBytes).to.be.within(1, 2 ** 30);
    expect(Date.parse(status?.heartbeat?.renewedAt ?? "")).to.be.within(startedMs, Date.now());
    expect(status?.conditions?.find(({ type }) => type === "DiskPressure")?.status).to.equal("False");
  });

  it("leave another installation's node alone, and start once it is released", async () => {
    const source = await fixture.createGame();
    await fixture.nodes.create({
      metadata: { name: fixture.node, labels: { [installationLabel]: "staging" } },
      spec: { desired: [{ digest: source.sha256, source, priority: 0, pinned: false, hold: false }] },
    });
    await fixture.startAgent();
    await eventually(() => fixture.notReadyReason()?.includes("belongs to the installation staging"), {
      timeoutMs: 20_000,
      what: "the agent to say whose the node is",
    });
    expect((await fixture.gameNode()).status).to.equal(undefined);
    await fixture.nodes.delete({ name: fixture.node });
    await fixture.createGameNode();
    const { status } = await eventually(
      async () => {
        const gameNode = await fixture.gameNode();
        return gameNode.status?.heartbeat !== undefined && gameNode;
      },
      { timeoutMs: 5_000, what: "the first report, without waiting for the next heartbeat" },
    );
    expect(status?.cache?.entries).to.deep.equal([]);
    expect(fixture.notReadyReason()).to.equal(undefined);
  });

  it("show each state of the desired downloads", async () => {
    const source = await fixture.createGame();
    const refused = await storeArchive(
      fixture.minio,
      aTarGz([{ name: "link", type: "2", linkName: "/etc" }]),
    );
    const wanted = [source, refused].map((archive, index) => ({
      digest: archive.sha256,
      source: archive,
      priority: 5 - index,
      pinned: false,
      hold: false,
    }));
    await fixture.createGameNode(wanted);
    await fixture.startAgent();
    const entries = await eventually(
      async () => {
        const found = (await fixture.gameNode()).status?.cache?.entries ?? [];
        return (
          found.length === 2 && found.every(({ state }) => state === "Ready" || state === "Failed") && found
        );
      },
      { timeoutMs: 20_000, what: "both to be settled" },
    );
    expect(entries.find(({ digest }) => digest === source.sha256)).to.include({
      state: "Ready",
      bytes: 200_010,
      inUse: false,
    });
    const failed = entries.find(({ digest }) => digest === refused.sha256);
    expect(failed).to.include({ state: "Failed" });
    expect(failed?.reason).to.match(/^ArchiveRefused: .*"link" is a symbolic link/);
  });

  it("keep the order of the games when another one is played", async () => {
    const games = [await fixture.createGame(), await fixture.createGame()];
    await fixture.createGameNode(
      games.map((source) => ({ digest: source.sha256, source, priority: 0, pinned: true, hold: false })),
    );
    const clock = new JumpClock();
    await fixture.startAgent({}, { clock, requestClock: systemClock });
    const shown = (isShown: (entries: CacheEntry[]) => boolean) =>
      eventually(
        async () => {
          clock.jump(1000);
          const entries = (await fixture.gameNode()).status?.cache?.entries ?? [];
          return (
            entries.length === 2 &&
            entries.every(({ state }) => state === "Ready") &&
            isShown(entries) &&
            entries.map(({ digest }) => digest)
          );
        },
        { timeoutMs: 25_000, what: "both games as they are" },
      );
    const before = await shown(() => true);
    const last = games.find(({ sha256 }) => sha256 === before[1])!;
    await fixture.launch(last);
    expect(await shown((entries) => entries.some(({ inUse }) => inUse))).to.deep.equal(before);
  });

  it("show games desired later and games in use", async () => {
    await fixture.createGameNode();
    const clock = new JumpClock();
    await fixture.startAgent({}, { clock, requestClock: systemClock });
    const source = await fixture.createGame();
    await fixture.nodes.mergePatch(
      { name: fixture.node },
      { spec: { desired: [{ digest: source.sha256, source, priority: 0, pinned: true, hold: false }] } },
    );
    const entry = (inUse: boolean) =>
      eventually(
        async () => {
          clock.jump(1000);
          const found = (await fixture.gameNode()).status?.cache?.entries[0];
          return found?.state === "Ready" && found.inUse === inUse;
        },
        { timeoutMs: 25_000, what: `the game to be ready, in use: ${inUse}` },
      );
    await entry(false);
    await fixture.ordered(await fixture.launch(source));
    await entry(true);
  });

  it("say why the bucket is inaccessible, and whose setting it is", async () => {
    await fixture.createGameNode();
    await fixture.startAgent({ S3_BUCKET: "no-such-bucket" });
    const condition = await eventually(
      async () =>
        (await fixture.gameNode()).status?.conditions?.find(
          ({ type, message }) => type === "StoreReachable" && !message.includes("not been checked"),
        ),
      { timeoutMs: 20_000, what: "the agent's word" },
    );
    expect(condition).to.include({
      status: "False",
      message: "The object store has no bucket with the name in S3_BUCKET. Create it, or correct the name.",
    });
  });

  it("say that the object store is unavailable", async () => {
    await fixture.createGameNode();
    const clock = new JumpClock();
    await fixture.startAgent({}, { clock, requestClock: systemClock });
    const isReachable = (expected: string) =>
      eventually(async () => conditionStatusOf(await fixture.gameNode(), "StoreReachable") === expected, {
        timeoutMs: 30_000,
        what: `StoreReachable to be ${expected}`,
      });
    await isReachable("True");
    fixture.proxy.fault = () => ({ status: 503 });
    clock.jump(probeEveryMs);
    await isReachable("False");
  });
});
