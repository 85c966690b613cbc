import { expect } from "chai";
import { conditionStatusOf } from "#test/support/cluster/conditionStatusOf.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentStage } from "#test/support/fixtures/nodeAgentFixture.ts";
import { storeArchive } from "#test/support/stores/storedArchive.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";

describe("Node agent: status of its node", function () {
  this.timeout(60_000);
  let stage: NodeAgentStage;

  beforeEachWithNodeAgent((fresh) => {
    stage = fresh;
  });

  it("waits for the GameNode, then reports heartbeat, space and store", async () => {
    await stage.startAgent();
    await stage.createGameNode();
    const { status } = await eventually(async () => {
      const gameNode = await stage.gameNode();
      return conditionStatusOf(gameNode, "StoreReachable") === "True" && gameNode;
    }, { timeoutMs: 20_000, what: "the first report" });
    expect(status?.cache).to.include({ capacityBytes: 2 ** 30 });
    expect(status?.cache?.freeBytes).to.be.within(1, 2 ** 30);
    expect(Date.now() - Date.parse(status?.heartbeat?.renewedAt ?? "")).to.be.below(20_000);
    expect(status?.conditions?.find(({ type }) => type === "DiskPressure")?.status).to.equal("False");
  });

  it("fetches what the operator wants there, and shows each state", async () => {
    const source = await stage.createGame();
    const refused = await storeArchive(stage.minio, aTarGz([{ name: "link", type: "2", linkName: "/etc" }]));
    const wanted = [source, refused].map((archive, index) => ({ digest: archive.sha256, source: archive, priority: 5 - index, pinned: false, hold: false }));
    await stage.createGameNode(wanted);
    await stage.startAgent();
    const entries = await eventually(async () => {
      const found = (await stage.gameNode()).status?.cache?.entries ?? [];
      return found.length === 2 && found.every(({ state }) => state === "Ready" || state === "Failed") && found;
    }, { timeoutMs: 20_000, what: "both to be settled" });
    expect(entries.find(({ digest }) => digest === source.sha256)).to.include({ state: "Ready", bytes: 200_010, inUse: false });
    const failed = entries.find(({ digest }) => digest === refused.sha256);
    expect(failed).to.include({ state: "Failed" });
    expect(failed?.reason).to.match(/^ArchiveRefused: .*"link" is a symbolic link/);
  });

  it("fetches what is wanted later, and shows what is in use", async () => {
    await stage.createGameNode();
    await stage.startAgent();
    const source = await stage.createGame();
    await stage.nodes.mergePatch({ name: stage.node }, { spec: { desired: [{ digest: source.sha256, source, priority: 0, pinned: true, hold: false }] } });
    const entry = (inUse: boolean) => eventually(async () => {
      const found = (await stage.gameNode()).status?.cache?.entries[0];
      return found?.state === "Ready" && found.inUse === inUse;
    }, { timeoutMs: 25_000, what: `the game to be ready, in use: ${inUse}` });
    await entry(false);
    await stage.ordered(await stage.launch(source));
    await entry(true);
  });

  it("says that the object store is away", async () => {
    await stage.createGameNode();
    await stage.startAgent();
    const isReachable = (expected: string) => eventually(async () => conditionStatusOf(await stage.gameNode(), "StoreReachable") === expected,
      { timeoutMs: 30_000, what: `StoreReachable to be ${expected}` });
    await isReachable("True");
    stage.proxy.fault = () => ({ status: 503 });
    await isReachable("False");
  });
});
