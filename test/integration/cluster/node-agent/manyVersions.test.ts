import { utimesSync } from "node:fs";
import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { objectDirectory } from "#contracts/nodeLayout.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { holdVersions } from "#test/support/fixtures/heldVersions.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

describe("Node agent with more versions than a GameNode lists", function () {
  this.timeout(60_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  it("reports in the session that an unlisted game is unpacked", async () => {
    await fixture.startAgent();
    const source = await fixture.createGame();
    const earlier = await fixture.launch(source);
    await fixture.ordered(earlier);
    await fixture.finish(earlier);
    await fixture.stopAgent();
    utimesSync(`${objectDirectory(fixture.root, source.sha256)}/manifest.json`, 1, 1);
    await holdVersions(fixture.root, limits.node.cacheEntriesReported);

    await fixture.startAgent();
    const { entries } = await eventually(
      async () => {
        const cache = (await fixture.gameNode()).status?.cache;
        return cache?.entries.length === limits.node.cacheEntriesReported && cache;
      },
      { timeoutMs: 20_000, what: "a full list" },
    );
    expect(entries.map(({ digest }) => digest)).not.to.include(source.sha256);
    const save = aTarGz([{ name: "progress", body: "level 7" }]);
    const objectKey = "saves/many/3-gs-old-1.tar.gz";
    await fixture.minio.client.putObject(fixture.minio.bucket, objectKey, save, save.length);
    const name = await fixture.launch(source, {
      saveSlot: { slotId: "many", number: 1, objectKey, sha256: sha256Of(save), generation: 3 },
    });
    expect(await fixture.condition(name, "ContentReady", "True")).to.equal("Unpacked");
  });
});
