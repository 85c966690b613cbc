import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { podVolumes, sessionDirectory, spoolNames } from "#contracts/nodeLayout.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { CountedTransport } from "#test/support/cluster/countedTransport.ts";
import { beforeEachWithNodeAgent, NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("A played session whose folder is missing", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** Creates a played session with a stored save. */
  async function aPlayedSession(): Promise<string> {
    await fixture.startAgent();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    return name;
  }

  /**
   * Waits until the agent with this root has processed all sessions and pods that it learned of before this
   * session and its end.
   */
  async function hasServedAnother(
    root: string,
    on: NodeAgentFixture,
    transport: CountedTransport,
  ): Promise<void> {
    const another = await on.launch(await on.createGame());
    await eventually(() => existsSync(`${sessionDirectory(root, another)}/${spoolNames.order}`), {
      timeoutMs: 20_000,
      what: "another session to be prepared",
    });
    await on.createPod(another, [
      { name: podVolumes.spool, hostPath: { path: sessionDirectory(root, another), type: "Directory" } },
    ]);
    await on.setGame(another, { terminated: { exitCode: 0, reason: "Completed" } });
    await on.condition(another, "SavePersisted", "True", "NothingToSave");
    await eventually(() => transport.underWay === 0, {
      timeoutMs: 20_000,
      what: "nothing to be on its way to the API server",
    });
  }

  async function expectLeftAlone(name: string, root: string): Promise<void> {
    expect(existsSync(sessionDirectory(root, name)), "a second folder").to.equal(false);
    const persisted = findCondition((await fixture.session(name)).status?.conditions, "SavePersisted");
    expect(persisted, "word of the save").to.include({ status: "False", reason: "Playing" });
  }

  async function expectStored(name: string, progress: string): Promise<void> {
    await fixture.condition(name, "SavePersisted", "True", "Stored");
    expect(
      await fixture.readSaved((await fixture.session(name)).status!.save!.objectKey, "progress"),
    ).to.equal(progress);
  }

  it("waits for the agent with the previous root if the root has changed, even after its end", async () => {
    const root = join(fixture.root, "..", "another-root");
    mkdirSync(root);
    const name = await aPlayedSession();
    await fixture.stopAgent();
    const transport = await fixture.startAgent({ NODE_ROOT: root });
    await hasServedAnother(root, fixture, transport);
    await expectLeftAlone(name, root);

    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    await fixture.endGame(name);
    const podRef = (await fixture.session(name)).status!.podRef!;
    await fixture.operate(name, { podRef, stoppingAt: "2030-01-01T00:00:00Z" });
    await hasServedAnother(root, fixture, transport);
    await expectLeftAlone(name, root);

    const finished = {
      type: "Finished",
      status: "True" as const,
      reason: "SaveNotStored",
      message: "",
      lastTransitionTime: "2030-01-01T00:00:00Z",
    };
    await fixture.operate(name, { podRef, stoppingAt: "2030-01-01T00:00:00Z", conditions: [finished] });
    await fixture.stopAgent();
    await fixture.startAgent();
    await expectStored(name, "level 2");
    await eventually(() => !existsSync(fixture.folder(name)), { what: "the session's folder to be removed" });
  });

  it("is left to its original node if somebody edited the node in its status", async () => {
    const other = await NodeAgentFixture.set(fixture.minio, fixture);
    try {
      await other.createGameNode();
      const transport = await other.startAgent();
      const name = await aPlayedSession();
      const podRef = (await fixture.session(name)).status!.podRef!;
      await other.operate(name, { podRef });
      await hasServedAnother(other.root, other, transport);
      await expectLeftAlone(name, other.root);

      await fixture.operate(name, { podRef });
      writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
      await fixture.endGame(name);
      await expectStored(name, "level 2");
    } finally {
      await other.clear();
    }
  });
});
