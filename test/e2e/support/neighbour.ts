import { expect } from "chai";
import { TestCard } from "#test/support/browser/testCard.ts";
import { publishTestCard } from "./games.ts";
import type { GamePage } from "./gamePage.ts";
import { platform, sessionsNamespace } from "./platform.ts";
import type { Players } from "./players.ts";
import { operatorTicket, streamerUrl } from "./streamerAccess.ts";

/** A player of the test card who must not be disturbed by whatever else runs on the node. */
export class Neighbour {
  readonly game: GamePage;
  readonly nodeName: string;
  readonly id: string;

  private constructor(game: GamePage, id: string, nodeName: string) {
    this.game = game;
    this.id = id;
    this.nodeName = nodeName;
  }

  /**
   * Starts a session and waits for its picture. The page is not traced, because tracing costs more than most
   * of its work.
   */
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

  /**
   * Returns the frames per second that the streamer sends, over the given seconds. Measured at the streamer,
   * because the frames that the browser shows depend on the load that nodes put on the shared machine.
   */
  async frameRate(seconds: number): Promise<number> {
    const args = [
      `${await streamerUrl(this.id)}/metrics`,
      await operatorTicket(this.id),
      String(seconds * 1000),
    ];
    const printed = await (await platform()).inApiPod(measureFrames, ...args);
    const rate = Number(printed.trim());
    if (!(rate >= 0)) throw new Error(`The neighbour's streamer counts no frames: ${printed}`);
    return rate;
  }

  /** Presses a key and waits until the picture shows it. */
  async plays(pressesSoFar: number): Promise<void> {
    await this.game.pressKey("Space");
    await new TestCard(this.game).showsPresses(pressesSoFar + 1);
  }

  /** Stops, and checks that the save of the whole session is stored. */
  async movesOut(): Promise<void> {
    await this.game.stop();
    const { status } = await (
      await platform()
    ).gameSessions.get({ namespace: sessionsNamespace, name: this.id });
    expect(status?.save?.final, `the neighbour's save: ${JSON.stringify(status)}`).to.equal(true);
  }
}

/**
 * Runs in the API's pod, which session pods accept connections from. Arguments: address, ticket and
 * milliseconds. Prints frames per second.
 */
const measureFrames = `const [url, ticket, windowMs] = process.argv.slice(1);
const framesSent = async () => {
  const text = await (await fetch(url, { headers: { authorization: "Bearer " + ticket } })).text();
  return { frames: Number(/^joypod_streamer_video_frames_total (\\d+)$/m.exec(text)?.[1]), atMs: performance.now() };
};
const before = await framesSent();
await new Promise((resolve) => setTimeout(resolve, Number(windowMs)));
const after = await framesSent();
console.log((after.frames - before.frames) / ((after.atMs - before.atMs) / 1000));`;
