import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

describe("Node agent with a missing bucket", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;
  let clock: JumpClock;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    clock = new JumpClock();
    await fixture.createGameNode();
    await fixture.startAgent({}, { clock, requestClock: systemClock });
  });

  /** Removes the bucket and returns its former contents. */
  async function removeBucket(): Promise<Map<string, Buffer>> {
    const { client, bucket } = fixture.minio;
    const objects = new Map<string, Buffer>();
    for await (const { name } of client.listObjectsV2(bucket, "", true) as AsyncIterable<{ name: string }>)
      objects.set(name, await fixture.readObject(name));
    await client.removeObjects(bucket, [...objects.keys()]);
    await client.removeBucket(bucket);
    return objects;
  }

  async function restoreBucket(objects: Map<string, Buffer>): Promise<void> {
    const { client, bucket, region } = fixture.minio;
    await client.makeBucket(bucket, region);
    for (const [name, bytes] of objects) await client.putObject(bucket, name, bytes, bytes.length);
  }

  /** Waits until the agent reports that the session's condition is False, while letting its retries run. */
  async function refused(name: string, type: string): Promise<{ reason: string; message: string }> {
    return eventually(
      async () => {
        clock.jump(1_000);
        const found = findCondition((await fixture.session(name)).status?.conditions, type);
        return (
          found?.status === "False" &&
          found.reason !== "Downloading" &&
          found.reason !== "Playing" && { reason: found.reason, message: found.message }
        );
      },
      { timeoutMs: 20_000, what: `${type} to be False` },
    );
  }

  async function aStoredSave(): Promise<{
    slotId: string;
    number: number;
    generation: number;
    objectKey: string;
    sha256: string;
  }> {
    const save = aTarGz([{ name: "progress", body: "level 7" }]);
    const objectKey = "saves/old/1-gs-old-1.1.tar.gz";
    await fixture.minio.client.putObject(fixture.minio.bucket, objectKey, save, save.length);
    return { slotId: "old", number: 1, generation: 1, objectKey, sha256: sha256Of(save) };
  }

  it("makes a launch wait for its save until the bucket is back", async () => {
    const game = await fixture.createGame();
    await fixture.ordered(await fixture.launch(game));
    const saveSlot = await aStoredSave();
    const objects = await removeBucket();
    let name: string;
    try {
      name = await fixture.launch(game, { saveSlot });
      const { reason, message } = await refused(name, "SaveRestored");
      expect(reason).to.equal("StoreUnreachable");
      expect(message).to.equal(`The object store has no bucket ${fixture.minio.bucket}.`);
    } finally {
      await restoreBucket(objects);
    }
    await fixture.ordered(name);
    await fixture.startPod(name);
    expect(readFileSync(`${fixture.saves(name)}/progress`, "utf8")).to.equal("level 7");
  });

  it("makes games and saves wait for the bucket", async () => {
    const name = await fixture.aRunningSession();
    const game = await fixture.createGame();
    const objects = await removeBucket();
    let launched: string;
    try {
      writeFileSync(`${fixture.saves(name)}/progress`, "level 8");
      expect((await refused(name, "SavePersisted")).reason).to.equal("StoreUnreachable");
      launched = await fixture.launch(game);
      expect((await refused(launched, "ContentReady")).reason).to.equal("StoreUnreachable");
    } finally {
      await restoreBucket(objects);
    }
    await fixture.storedSave(name, 1);
    await eventually(
      async () => {
        clock.jump(1_000);
        return (
          findCondition((await fixture.session(launched)).status?.conditions, "ContentReady")?.status ===
          "True"
        );
      },
      { timeoutMs: 20_000, what: "the game to be fetched" },
    );
  });

  it("waits if a proxy that cannot reach the bucket answers 404", async () => {
    const game = await fixture.createGame();
    await fixture.ordered(await fixture.launch(game));
    const saveSlot = await aStoredSave();
    fixture.proxy.fault = ({ path }) => (path.includes("/saves/") ? { status: 404 } : undefined);
    const name = await fixture.launch(game, { saveSlot });
    expect((await refused(name, "SaveRestored")).reason).to.equal("StoreUnreachable");
    fixture.proxy.fault = undefined;
    await fixture.ordered(name);
  });
});
