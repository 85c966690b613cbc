import { expect } from "chai";
import { setTimeout as delay } from "node:timers/promises";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import type { GamePage } from "./gamePage.ts";
import { platform, sessionsNamespace } from "./platform.ts";
import type { Players } from "./players.ts";

/** What a page asks for over and over. */
type Asked = "keepalive" | "status" | "library";

/** A request that failed. */
export interface FailedRequest {
  asked: Asked;
  /** Status, or why there was no response. */
  response: number | string;
  hasRetryAfter: boolean;
  at: string;
}

interface WatchedGame {
  game: GamePage;
  card: TestCard;
  sessionId: string;
  podUid: string;
}

/** As few pictures as can be asked for, in the size by which the test card is read: two cores encode, send and show all of them. */
const quality = { preset: "dataSaver", width: 1280, height: 720, fps: 15 };
/** Within the limits of a minute, with what the page asks for by itself. */
const pauseMs = 700;

/** Games that are played in real pages while something is done to the platform: their pods, their pictures, and their pages' requests. */
export class WatchedGames {
  readonly #games: readonly WatchedGame[];
  readonly #running: Promise<unknown>;
  #isOver = false;
  #failed: FailedRequest[] = [];
  #served = 0;

  private constructor(games: readonly WatchedGame[], baseUrl: string) {
    this.#games = games;
    this.#running = Promise.all(games.flatMap(({ game, sessionId }) => [
      this.#ask("keepalive", game, baseUrl, sessionId), this.#ask("status", game, baseUrl, sessionId), this.#ask("library", game, baseUrl, sessionId),
    ]));
  }

  /** So many players who play the game of that title. */
  static async start(players: Players, title: string, count: number): Promise<WatchedGames> {
    const installed = await platform();
    const games: WatchedGame[] = [];
    for (let number = 0; number < count; number++) {
      const { game } = await players.signIn({ isTraced: false });
      const chosen = await game.page.context().request.put(`${installed.baseUrl}/api/account/stream-quality`, { data: quality });
      // A release before it has no such choice: its players see what the site says.
      expect(chosen.status()).to.be.oneOf([200, 404]);
      await game.openGame(title);
      await game.startNewGame(1);
      const card = new TestCard(game);
      await card.showsPresses(0);
      const sessionId = game.sessionId();
      const { uid } = (await installed.pods.get({ namespace: sessionsNamespace, name: sessionId })).metadata;
      games.push({ game, card, sessionId, podUid: uid });
    }
    for (const { game } of games) await watchFrames(game);
    return new WatchedGames(games, installed.baseUrl);
  }

  /** Requests that failed since the last call; throws when none was served. */
  takeFailed(): FailedRequest[] {
    expect(this.#served, "requests that were served").to.be.above(0);
    const failed = this.#failed;
    this.#failed = [];
    this.#served = 0;
    return failed;
  }

  /** For each game, the longest time in milliseconds that its picture stood still since the last call. */
  takeLongestGaps(): Promise<number[]> {
    return Promise.all(this.#games.map(({ game }) => game.page.evaluate<number>("joypodFrameGaps.takeLongest()")));
  }

  /** Every game is in its pod still, listens to its player, and shows it. */
  async areUntouched(presses: number): Promise<void> {
    const { pods } = await platform();
    for (const { game, card, sessionId, podUid } of this.#games) {
      expect((await pods.get({ namespace: sessionsNamespace, name: sessionId })).metadata.uid, `the pod of ${sessionId}`).to.equal(podUid);
      await game.pressKey("Space");
      await card.showsPresses(presses);
    }
  }

  /** Reloads the page of the player of that number, who then plays on by what the platform serves now. */
  async reload(number: number): Promise<void> {
    const { game } = this.#game(number);
    await game.page.reload();
    await game.seesPicture();
    await watchFrames(game);
  }

  /** The player of that number stops, and plays the slot on, as often as that; each time the card shows what was saved. Call it after `stop`. */
  async stopAndPlayOn(number: number, { title, presses, times }: { title: string; presses: number; times: number }): Promise<void> {
    const { game, card } = this.#game(number);
    for (let count = 0; count < times; count++) {
      await game.stop();
      await game.openGame(title);
      await game.continueSlot(1);
      await card.showsPresses(presses);
    }
  }

  /** Ends the requests; the games go on. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  #game(number: number): WatchedGame {
    const game = this.#games[number];
    if (game === undefined) throw new Error(`Nobody is player ${number}.`);
    return game;
  }

  async #ask(asked: Asked, game: GamePage, baseUrl: string, sessionId: string): Promise<void> {
    const { request } = game.page.context();
    const options = { timeout: 15_000 };
    const isOver = (): boolean => this.#isOver;
    while (!isOver()) {
      try {
        const response = asked === "keepalive" ? await request.post(`${baseUrl}/api/game/keepalive`, { data: { sessionId }, ...options })
          : await request.get(asked === "status" ? `${baseUrl}/api/game/session-status?sessionId=${sessionId}` : `${baseUrl}/api/games`, options);
        if (response.ok()) this.#served++;
        else this.#fail(asked, response.status(), response.headers()["retry-after"] !== undefined);
        await response.dispose();
      } catch (error) {
        if (!isOver()) this.#fail(asked, String(error).split("\n", 1)[0] ?? "", false);
      }
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }

  #fail(asked: Asked, response: number | string, hasRetryAfter: boolean): void {
    this.#failed.push({ asked, response, hasRetryAfter, at: new Date().toISOString() });
  }
}

/** Notes from now on how long the page's picture stands still. */
async function watchFrames(game: GamePage): Promise<void> {
  await game.page.evaluate(await pageScript("frameGaps"));
}
