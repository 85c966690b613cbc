import { setTimeout } from "node:timers/promises";
import { expect } from "chai";
import { TestCard } from "#test/support/testCard.ts";
import { publishTestCard } from "./games.ts";
import type { GamePage } from "./gamePage.ts";
import { platform, sessionsNamespace } from "./platform.ts";
import type { Players } from "./players.ts";

/** A player who plays the test card in peace, beside whatever else runs on the node. */
export class Neighbour {
  readonly game: GamePage;
  readonly nodeName: string;
  readonly id: string;

  private constructor(game: GamePage, id: string, nodeName: string) {
    this.game = game;
    this.id = id;
    this.nodeName = nodeName;
  }

  /** A running session that shows its picture. The page is not traced, which would cost more than most of what it does. */
  static async moveIn(players: Players): Promise<Neighbour> {
    const { title } = await publishTestCard();
    const { game } = await players.signIn({ isTraced: false });
    await game.openGame(title);
    await game.startNewGame(1);
    const id = game.sessionId();
    const { status } = await (await platform()).gameSessions.get({ namespace: sessionsNamespace, name: id });
    if (status?.nodeName === undefined) throw new Error(`${id} has no node.`);
    return new Neighbour(game, id, status.nodeName);
  }

  /** Pictures a second over so many seconds: a rate needs a window. */
  async frameRate(seconds: number): Promise<number> {
    const [before, startedMs] = [await this.game.frames(), performance.now()];
    await setTimeout(seconds * 1000);
    return (await this.game.frames() - before) / ((performance.now() - startedMs) / 1000);
  }

  /** Presses a key once more and waits until the picture shows it. */
  async plays(pressesSoFar: number): Promise<void> {
    await this.game.pressKey("Space");
    await new TestCard(this.game).showsPresses(pressesSoFar + 1);
  }

  /** Stops, and checks that the save of the whole time is stored. */
  async movesOut(): Promise<void> {
    await this.game.stop();
    const { status } = await (await platform()).gameSessions.get({ namespace: sessionsNamespace, name: this.id });
    expect(status?.save?.final, `the neighbour's save: ${JSON.stringify(status)}`).to.equal(true);
  }
}
