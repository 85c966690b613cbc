import { writeFileSync } from "node:fs";
import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent: a session whose status is edited manually", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  it("gets its ready files and save, and its stored save, reported again", async () => {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    await fixture.condition(name, "SaveRestored", "True");
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    const { objectKey } = await fixture.storedSave(name, 1);
    const edited = await fixture.sessions.mergePatchStatus(
      { name, namespace: fixture.namespace },
      { status: { conditions: null, save: null } },
    );
    expect(edited.status?.save).to.equal(undefined);
    await fixture.condition(name, "ContentReady", "True");
    await fixture.condition(name, "SaveRestored", "True");
    await eventually(async () => (await fixture.session(name)).status?.save?.objectKey === objectKey, {
      timeoutMs: 20_000,
      what: "the stored save to be named",
    });
  });

  it("does not keep reporting a stored last save while it is running", async () => {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    const { conditions = [] } = (await fixture.session(name)).status!;
    const settled = conditions.map((condition) =>
      condition.type === "SavePersisted"
        ? { ...condition, status: "True" as const, reason: "NothingToSave" }
        : condition,
    );
    await fixture.sessions.mergePatchStatus(
      { name, namespace: fixture.namespace },
      { status: { conditions: settled } },
    );
    await fixture.condition(name, "SavePersisted", "False", "Playing");
  });
});
