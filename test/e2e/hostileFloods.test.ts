import { expect } from "chai";
import { GameNodeHost } from "./support/gameNodeHost.ts";
import { publishHostile } from "./support/hostileGame.ts";
import { hostileSessionsOfSuite } from "./support/hostileSession.ts";
import { Neighbour } from "./support/neighbour.ts";
import { Players } from "./support/players.ts";
import { readStoredSave } from "./support/storedSave.ts";

const mebibyte = 2 ** 20;

describe("a game that floods memory, log and display", () => {
  const launch = hostileSessionsOfSuite();
  const players = new Players();

  after(async () => {
    await players.discard();
  });

  it("ends at its own memory limit, or fills a log of bounded size, and its neighbour's stream goes on", async () => {
    const slugs = await publishHostile("memory", "shm", "output");
    const neighbour = await Neighbour.moveIn(players);
    const [memory, shm, output] = await Promise.all([launch(slugs.memory), launch(slugs.shm), launch(slugs.output)]);
    await Promise.all([memory.storesProgress(), shm.storesProgress()]);
    await Promise.all([memory, shm, output].map((session) => session.begin()));

    for (const session of [memory, shm]) {
      const { status } = await session.finish({ isAsked: false });
      expect(status?.failure?.reason, JSON.stringify(status)).to.equal("OutOfMemory");
      expect(await readStoredSave(status?.save?.objectKey ?? "", "progress")).to.equal("half way\n");
    }
    await neighbour.plays(0);
    const host = new GameNodeHost(await output.nodeName());
    await output.tells(/^output written: \d+ MiB/, 60_000);
    expect(await host.logBytes(output.id), "the log of the session's containers").to.be.at.most(16 * mebibyte);
    expect((await output.finish()).status?.stopReason).to.equal("UserRequested");
    await neighbour.movesOut();
  });
});
