import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { expectPlausible } from "./support/gamePage.ts";
import { distance, gridOf, steadyPicture } from "./support/picture.ts";
import { platform, sessionsNamespace } from "./support/platform.ts";
import { playersOfSuite } from "./support/players.ts";

/** Where The Question's menu has its first entry, in the game's pixels. */
const startButton = { x: 73, y: 259 };

describe("a real game", () => {
  const players = playersOfSuite();

  it("is played from its menu, saved, and restored", async () => {
    const { game } = await players.signIn();
    await game.openGame("The Question");
    await game.startNewGame(1);
    const menu = await steadyPicture(game.page);
    await eventually(
      async () => {
        // again when a game on a busy machine did not look yet
        await game.click(startButton.x, startButton.y);
        return distance(menu, await gridOf(game.page)) > 10;
      },
      { timeoutMs: 60_000, intervalMs: 2000, what: "the first scene" },
    );
    await game.pressKey("Space", 2);
    const id = game.sessionId();
    expectPlausible(await game.stop(), { minMemoryMb: 100 });

    const { gameSessions } = await platform();
    const { status } = await gameSessions.get({ namespace: sessionsNamespace, name: id });
    expect(status?.save?.bytes, "stored save").to.be.greaterThan(0);
    await game.openGame("The Question");
    await game.continueSlot(1);
    const { spec } = await gameSessions.get({ namespace: sessionsNamespace, name: game.sessionId() });
    expect(spec.saveSlot.sha256).to.equal(status?.save?.sha256);
    await steadyPicture(game.page);
  });
});
