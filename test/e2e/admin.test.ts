import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { publishTestCard } from "./support/games.ts";
import { platform, sessionsNamespace } from "./support/platform.ts";
import { playersOfSuite } from "./support/players.ts";

describe("kubectl for an admin", () => {
  const players = playersOfSuite();

  it("shows the state of sessions, nodes and caches, and a session's events", async () => {
    const { title, slug } = await publishTestCard();
    const { game } = await players.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    const id = game.sessionId();
    const installed = await platform();
    const kubectl = (...args: string[]): Promise<string> =>
      installed.kubectl(["-n", sessionsNamespace, ...args]);

    expect(await kubectl("get", "gsess", id)).to.match(
      new RegExp(`${id}\\s+Running\\s+${slug}\\s+\\S+worker\\S*\\s+True`),
    );
    expect(await kubectl("get", "gcache", slug)).to.match(/\s2\s+2\s+/);
    expect(await kubectl("get", "gnode")).to.match(/worker\s+\d+\s+\d+\s+true\s+True/);
    await game.stop();
    await eventually(
      async () => {
        const story = await kubectl("describe", "gsess", id);
        for (const reason of ["Scheduled", "Ready", "Stopping", "Finished"]) {
          if (!new RegExp(`Normal\\s+${reason}`).test(story))
            throw new Error(`no event ${reason} in:\n${story}`);
        }
        return true;
      },
      { timeoutMs: 30_000, what: "the events of each step" },
    );
  });
});
