import { expect } from "chai";
import { GameNodeHost } from "#test/e2e/support/gameNodeHost.ts";
import { publishHostile } from "#test/e2e/support/hostileGame.ts";
import { hostileSessionsOfSuite } from "#test/e2e/support/hostileSession.ts";
import { Neighbour } from "#test/e2e/support/neighbour.ts";
import { Players } from "#test/e2e/support/players.ts";
import { readStoredSave } from "#test/e2e/support/storedSave.ts";

const mebibyte = 2 ** 20;

describe("a game that floods memory, log and display", () => {
  const launch = hostileSessionsOfSuite();
  const players = new Players();

  after(async () => {
    await players.discard();
  });

  it("ends at its memory limit, or fills a log of bounded size, and its neighbour's stream continues", async () => {
    const [slugs, neighbour] = await Promise.all([
      publishHostile("memory", "shm", "output"),
      Neighbour.moveIn(players),
    ]);
    const [memory, shm, output] = await Promise.all([
      launch(slugs.memory),
      launch(slugs.shm),
      launch(slugs.output),
    ]);
    // It writes for half a minute, in which the others come to their ends.
    await output.begin();
    await Promise.all([memory.storesProgress(), shm.storesProgress()]);
    await Promise.all([memory.begin(), shm.begin()]);

    for (const session of [memory, shm]) {
      const { status } = await session.finish({ isAsked: false });
      expect(status?.failure?.reason, JSON.stringify(status)).to.equal("OutOfMemory");
      expect(await readStoredSave(status?.save?.objectKey ?? "", "progress")).to.equal("half way\n");
    }
    await neighbour.plays(0);
    const host = new GameNodeHost(await output.nodeName());
    await output.tells(/^output written: \d+ MiB/, 60_000);
    expect(await host.logBytes(output.id), "the log of the session's containers").to.be.at.most(
      16 * mebibyte,
    );
    expect((await output.finish()).status?.stopReason).to.equal("UserRequested");
    await neighbour.movesOut();
  });
});
