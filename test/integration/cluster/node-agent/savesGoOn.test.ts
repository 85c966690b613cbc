import { existsSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { spoolNames } from "#contracts/nodeLayout.ts";
import { containerStatus, type ContainerStatus } from "#test/factories/sessionPod.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent saves after a problem", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** Reports the streamer's state like the kubelet, while the game continues. */
  async function setStreamer(name: string, state: ContainerStatus["state"]): Promise<void> {
    await fixture.pods.mergePatchStatus(
      { name, namespace: fixture.namespace },
      { status: { initContainerStatuses: [containerStatus("streamer", state)] } },
    );
  }

  /**
   * Creates a game with one stored save. Its agent's connection to the API server can be made to fail, and
   * its clock jumps over waits.
   */
  async function aGameOnFaultyApi(): Promise<{
    api: FaultyApi;
    name: string;
    storedAfterJumps: (count: number) => Promise<unknown>;
  }> {
    const api = await FaultyApi.start(await sharedKubeApiServer());
    const clock = new JumpClock();
    await fixture.startAgent({}, { clock, requestClock: systemClock, kubeconfigPath: api.kubeconfig() });
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    const storedAfterJumps = (count: number): Promise<unknown> =>
      eventually(
        async () => {
          clock.jump(1_000);
          return (await fixture.storedSaves(`slot-${name}`)).length === count;
        },
        { timeoutMs: 15_000, what: `save ${count} to be stored` },
      );
    return { api, name, storedAfterJumps };
  }

  it("are stored after a streamer restart", async () => {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    await fixture.killPacker(name);
    await setStreamer(name, { terminated: { exitCode: 1, reason: "Error" } });
    // The agent sees the failure before the request. If it took the failure for the end, it would not pass
    // the request on.
    await fixture.sessions.mergePatch(
      { name, namespace: fixture.namespace },
      { spec: { saveRequestedAt: "2026-01-01T00:00:01.000Z" } },
    );
    await eventually(() => existsSync(`${fixture.folder(name)}/${spoolNames.request}`), {
      timeoutMs: 20_000,
      what: "the request to be passed on",
    });
    await fixture.startPacker(name);
    await setStreamer(name, { running: { startedAt: new Date().toISOString() } });
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await fixture.endGame(name);
    expect(await fixture.condition(name, "SavePersisted", "True")).to.equal("Stored");
    expect(
      await fixture.readSaved((await fixture.session(name)).status!.save!.objectKey, "progress"),
    ).to.equal("level 2");
  });

  it("are reported as stored again once they are within the limits", async () => {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    writeFileSync(`${fixture.saves(name)}/large`, "");
    truncateSync(`${fixture.saves(name)}/large`, limits.save.unpackedBytes + 1);
    await fixture.condition(name, "SavePersisted", "False", "SaveTooLarge");
    rmSync(`${fixture.saves(name)}/large`);
    await fixture.condition(name, "SavePersisted", "False", "Playing");
    expect(await fixture.storedSaves(`slot-${name}`), "the same save as before").to.have.length(1);
  });

  it("reach the object store while the API server refuses status writes, and are reported afterwards", async () => {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    await fixture.rights.refuseSessionStatus(true);
    for (const count of [2, 3]) {
      writeFileSync(`${fixture.saves(name)}/progress`, `level ${count}`);
      await eventually(async () => (await fixture.storedSaves(`slot-${name}`)).length === count, {
        timeoutMs: 20_000,
        what: `save ${count} to be stored`,
      });
    }
    await fixture.rights.refuseSessionStatus(false);
    expect(await fixture.readSaved((await fixture.storedSave(name, 3)).objectKey, "progress")).to.equal(
      "level 3",
    );
  });

  it("reach the object store at their intervals while the API server does not respond", async () => {
    const { api, name, storedAfterJumps } = await aGameOnFaultyApi();
    const goOn = api.stall();
    for (const count of [2, 3, 4]) {
      writeFileSync(`${fixture.saves(name)}/progress`, `level ${count}`);
      await storedAfterJumps(count);
    }
    goOn();
    expect(await fixture.readSaved((await fixture.storedSave(name, 4)).objectKey, "progress")).to.equal(
      "level 4",
    );
    await fixture.stopAgent();
    await api.stop();
  });

  it("reach the object store while the report of a requested save gets no response, and are reported afterwards", async () => {
    const { api, name, storedAfterJumps } = await aGameOnFaultyApi();
    const { arrived, release } = api.holdOnce(
      ({ method, path }) => method === "PATCH" && path.endsWith(`/gamesessions/${name}/status`),
    );
    const saveRequestedAt = "2026-01-01T00:00:01.000Z";
    await fixture.sessions.mergePatch({ name, namespace: fixture.namespace }, { spec: { saveRequestedAt } });
    await arrived;
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await storedAfterJumps(2);
    release();
    const { objectKey, requestedAt } = await fixture.storedSave(name, 2);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 2");
    expect(requestedAt, "the request that the save before it answered").to.equal(saveRequestedAt);
    await fixture.stopAgent();
    await api.stop();
  });
});
