import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { expect } from "chai";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

/** So many uploads go on at once. */
const atOnce = 8;

describe("Node agent: saves over a slow connection to the object store", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** The sessions whose saves are on their way, or have been, in the order of their turns. */
  const begun = (): string[] =>
    fixture.proxy.requests
      .filter(({ method }) => method === "PUT")
      .map(({ path }) => /gs-[0-9a-f]+/.exec(path)?.[0] ?? "");

  /** Holds back what the object store says of each save until that is let go. */
  function holdUploads(): { release(session: string): void; end(): void } {
    const held = new Map<string, PromiseWithResolvers<undefined>>();
    fixture.proxy.fault = ({ method, path }) => {
      if (method !== "PUT") return undefined;
      const until = Promise.withResolvers<undefined>();
      held.set(/gs-[0-9a-f]+/.exec(path)?.[0] ?? "", until);
      return { holdUntil: until.promise };
    };
    return {
      release: (session) => held.get(session)?.resolve(undefined),
      end: () => {
        fixture.proxy.fault = undefined;
        for (const until of held.values()) until.resolve(undefined);
      },
    };
  }

  async function aSessionThatSaves(): Promise<string> {
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    return name;
  }

  it("delay no launch, and let the last save of a session go first", async () => {
    await fixture.startAgent();
    const source = await fixture.createGame();
    const uploads = holdUploads();
    await Promise.all(Array.from({ length: atOnce }, aSessionThatSaves));
    await eventually(() => begun().length === atOnce, {
      timeoutMs: 10_000,
      what: "as many uploads as go on at once",
    });
    const [played, ended] = await Promise.all([aSessionThatSaves(), aSessionThatSaves()]);
    await fixture.ordered(await fixture.launch(source));
    await fixture.endGame(ended);
    await eventually(() => fixture.manifest(ended)?.final === true, { what: "the last pack" });
    uploads.release(begun()[0]!);
    await eventually(() => begun().length > atOnce, { what: "the next upload" });
    expect(begun()[atOnce]).to.equal(ended).and.not.to.equal(played);
    uploads.end();
    await fixture.condition(ended, "SavePersisted", "True", "Stored");
  });

  it("are stored with one upload, however long the connection takes", async () => {
    const clock = new JumpClock();
    await fixture.startAgent({ SAVE_INTERVAL_SECONDS: "3600" }, { clock, requestClock: systemClock });
    const uploads = holdUploads();
    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, randomBytes(48 * 2 ** 20));
    await eventually(() => begun().length === 1, { timeoutMs: 20_000, what: "the upload" });
    clock.jump(11 * 60_000);
    uploads.release(name);
    expect((await fixture.storedSave(name, 1)).sequence).to.equal(1);
    expect(begun()).to.have.length(1);
  });
});
