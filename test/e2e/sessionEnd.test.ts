import { expect } from "chai";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { endedRun, publishTestCard } from "./support/games.ts";
import type { GamePage } from "./support/gamePage.ts";
import { platform, sessionsNamespace } from "./support/platform.ts";
import { Players, playersOfSuite } from "./support/players.ts";

interface Played {
  game: GamePage;
  card: TestCard;
  userId: string;
}

describe("the end of a session", () => {
  const players = playersOfSuite();
  /** Whose session outlasts the other tests. */
  const outlasting = new Players();
  let slug: string;
  let title: string;
  let left: Played;

  before(async () => {
    ({ slug, title } = await publishTestCard());
    // Becomes idle while the other sessions are played.
    left = await playing(2, outlasting);
    await left.game.page.goto("about:blank");
  });

  after(async () => {
    await outlasting.discard();
  });

  /** A running session with this many key presses as its progress. */
  async function playing(presses: number, of = players): Promise<Played> {
    const { game, userId } = await of.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0);
    await game.pressKey("Space", presses);
    await card.showsPresses(presses);
    return { game, card, userId };
  }

  async function finished(userId: string): Promise<GameSession> {
    const installed = await platform();
    return eventually(
      async () => {
        const session = await installed.gameSessionOf(userId);
        return session !== undefined && isFinished(session) ? session : undefined;
      },
      { timeoutMs: 90_000, intervalMs: 500, what: "the session to be finished" },
    );
  }

  async function continuesFrom(game: GamePage, card: TestCard, presses: number): Promise<void> {
    await game.openGame(title);
    await game.continueSlot(1);
    await card.showsPresses(presses);
  }

  it("is graceful when an admin deletes the session", async () => {
    const { game, card } = await playing(3);
    const installed = await platform();
    await installed.kubectl(["-n", sessionsNamespace, "delete", "gsess", game.sessionId(), "--timeout=120s"]);
    await game.seesEnd("Ended by an administrator");
    await continuesFrom(game, card, 3);
  });

  it("is shown with its reason when the game exits", async () => {
    const { game, card, userId } = await playing(4);
    await game.pressKey("KeyQ");
    await game.seesEnd("The game has ended");
    expect((await finished(userId)).status?.stopReason).to.equal("GameExited");
    await continuesFrom(game, card, 4);
  });

  it("is shown as a crash when the game crashes", async () => {
    const { game, userId } = await playing(1);
    await game.pressKey("KeyX");
    await game.seesEnd("The game ended with an error");
    const { status } = await finished(userId);
    expect(status?.failure?.message).to.contain("exited with code 3");
    expect(status?.exit).to.deep.equal({ code: 3 });
    const run = await endedRun(slug, game.sessionId());
    expect(run).to.deep.include({ crashed: true, exit: { code: 3, signal: null }, endedBy: "itself" });
    expect(run.usage?.peakMemoryMb).to.be.greaterThan(1);
  });

  it("follows when keepalives stop, and the save is stored", async () => {
    const { game, card, userId } = left;
    const { status } = await finished(userId);
    expect(status?.stopReason).to.equal("IdleTimeout");
    expect(status?.save?.final).to.equal(true);
    await game.page.goto((await platform()).baseUrl);
    await continuesFrom(game, card, 2);
  });
});
