import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ensureTracer, hasStruck, unreadableOnce } from "#test/support/crashPoints/diskFault.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent: a session whose record the disk does not show at its start,", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  before(ensureTracer);
  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  it("keeps its save, which is stored", async () => {
    fixture.proxy.fault = ({ method }) => method === "PUT" ? { status: 503 } : undefined;
    fixture.startProcess();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    await fixture.killProcess();
    fixture.proxy.fault = undefined;
    const calls = join(fixture.root, "..", "calls");
    fixture.startProcess({}, unreadableOnce(`${fixture.folder(name)}/session.json`, calls));
    const { objectKey } = await fixture.storedSave(name, 1);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 1");
    expect(hasStruck(calls)).to.equal(true);
  });
});
