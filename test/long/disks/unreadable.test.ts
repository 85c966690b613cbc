import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { spoolNames } from "#contracts/nodeLayout.ts";
import { findCondition } from "#kube/api/conditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { ensureTracer, hasStruck, unreadable, type ReadFault } from "#test/support/crashPoints/diskFault.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent: a session with unreadable files", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  before(ensureTracer);
  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** A session whose pack the object store has not taken, and whose agent has died. */
  async function aSessionWithPack(): Promise<string> {
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { status: 503 } : undefined);
    fixture.startProcess();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    await fixture.killProcess();
    fixture.proxy.fault = undefined;
    return name;
  }

  const calls = (): string => join(fixture.root, "..", "calls");
  const startWithFault = (path: string, fault: ReadFault): void =>
    fixture.startProcess({}, unreadable(path, calls(), fault));

  it("keeps its stored save if its record is unreadable when the agent starts", async () => {
    const name = await aSessionWithPack();
    startWithFault(`${fixture.folder(name)}/session.json`, { call: "statx", error: "EIO", isOnce: true });
    const { objectKey } = await fixture.storedSave(name, 1);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 1");
    expect(hasStruck(calls())).to.equal(true);
  });

  for (const [what, error, path] of [
    ["manifest", "EUCLEAN", (name: string) => `${fixture.folder(name)}/${spoolNames.manifest}`],
    [
      "pack",
      "EBADMSG",
      (name: string) => `${fixture.folder(name)}/${spoolNames.packed}/${fixture.packsOf(name)[0] ?? ""}`,
    ],
  ] as const) {
    it(`reports this and is set aside if the disk has lost its ${what} (${error})`, async () => {
      const name = await aSessionWithPack();
      await fixture.killPacker(name);
      startWithFault(path(name), { call: "openat", error, isOnce: false });
      await fixture.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
      await fixture.condition(name, "SavePersisted", "True", "SpoolUnreadable");
      expect(
        findCondition((await fixture.session(name)).status?.conditions, "SavePersisted")?.message,
      ).to.match(new RegExp(`^The packer's data cannot be read from the disk: .*${error}`));
      expect(hasStruck(calls())).to.equal(true);
      await fixture.finish(name);
      await eventually(() => existsSync(join(fixture.root, "v1/sessions-kept", name)), {
        timeoutMs: 20_000,
        what: "the folder to be set aside",
      });
      await eventually(async () => (await fixture.eventsOf(fixture.node)).includes("SessionSetAside"), {
        what: "the admin to be told",
      });
    });
  }
});
