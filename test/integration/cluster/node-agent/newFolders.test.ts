import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { putOnSmallDisk } from "#test/support/fixtures/nodeDisk.ts";

describe("The folder of a new session", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  it("appears together with its record, leaves nothing on a full disk, and is created once there is space", async () => {
    const disk = await putOnSmallDisk(fixture, { megabytes: 192, inodes: 512 });
    await fixture.startAgent();
    const source = await fixture.createGame();
    await fixture.ordered(await fixture.launch(source));
    // One inode for the folder, and none for its contents.
    disk.fillInodes(1);
    const name = await fixture.launch(source);
    await fixture.condition(name, "ContentReady", "False", "InsufficientSpace");
    await fixture.stopAgent();
    expect(existsSync(fixture.folder(name)), "the folder").to.equal(false);
    expect(readdirSync(join(fixture.root, "v1/tmp"))).to.deep.equal([]);
    disk.clear();
    await fixture.startAgent();
    await fixture.ordered(name);
    await fixture.startPod(name);
  });
});
