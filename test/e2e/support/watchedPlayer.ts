import { expect } from "chai";
import { ordinaryWindow } from "#test/support/browser/browser.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { ScaledPicture } from "#test/support/browser/scaledPicture.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import type { FrameGap } from "#test/support/session/frameGap.ts";
import { StreamReceiver } from "#test/support/session/streamReceiver.ts";
import type { GamePage } from "./gamePage.ts";
import type { PublishedGame } from "./games.ts";
import { PageLoading } from "./pageLoading.ts";
import { platform } from "./platform.ts";
import type { Players } from "./players.ts";

/** The lightest stream: two cores encode and send four of them, show one, and restart the platform. */
const quality = { preset: "lowLatency", width: 640, height: 360, fps: 15 } as const;
const displayWidth = 1280;
/** A small window while the picture is watched, because drawing the page costs more than receiving it. */
const smallWindow = { width: 640, height: 400 };
/** One more than the connections that a browser keeps to one server. */
const maxReloads = 7;

/** A player who measures how long the picture freezes. */
export interface WatchedPlayer {
  readonly http: PlayerHttp;
  readonly sessionId: string;
  /** Returns the longest time between two frames since the last call. */
  takeLongestGap(): Promise<FrameGap>;
  close(): Promise<void>;
}

/** A player in a real page, who sees the game's picture. */
export class PagePlayer implements WatchedPlayer {
  readonly http: PlayerHttp;
  readonly sessionId: string;
  readonly #game: GamePage;
  readonly #card: TestCard;

  private constructor(game: GamePage, card: TestCard) {
    this.#game = game;
    this.#card = card;
    this.http = PlayerHttp.of(game.page);
    this.sessionId = game.sessionId();
  }

  static async start(players: Players, { title }: PublishedGame): Promise<PagePlayer> {
    const { game } = await players.signIn({ isTraced: false });
    await choosesLightStream(PlayerHttp.of(game.page));
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(new ScaledPicture(game, displayWidth));
    await card.showsPresses(0);
    await followFrames(game);
    await game.page.setViewportSize(smallWindow);
    return new PagePlayer(game, card);
  }

  takeLongestGap(): Promise<FrameGap> {
    return this.#game.page.evaluate<FrameGap>("joypodFrameGaps.takeLongest()");
  }

  /** Presses a key, so that it was pressed `presses` times in total, and waits until the game has noticed. */
  async press(presses: number): Promise<void> {
    await this.#game.pressKey("Space");
    await this.#card.showsPresses(presses);
  }

  /**
   * Reloads the page, to get what the platform serves now. If there is no picture, reports the page's
   * requests.
   */
  async reload(): Promise<void> {
    const { page } = this.#game;
    const loading = new PageLoading(page);
    try {
      const response = await page.reload();
      if (response?.ok() === false) throw new Error("There is an error in the page's place.");
      await this.#game.seesPicture();
    } catch (cause) {
      throw new Error(`The page that was loaded anew shows no game; ${await loading.describe()}`, { cause });
    } finally {
      loading.end();
    }
    await followFrames(this.#game);
  }

  /**
   * Reloads until the page is from another release: an API that is shutting down serves its own page once on
   * each kept connection.
   */
  async reloadToOther(): Promise<void> {
    const entry = (): Promise<string> =>
      this.#game.page.evaluate<string>("document.querySelector('script[type=module]').src");
    const before = await entry();
    for (let count = 0; count < maxReloads; count++) {
      await this.reload();
      if ((await entry()) !== before) return;
    }
    throw new Error(
      `Another release's page was expected; after ${maxReloads} reloads it is ${before} still.`,
    );
  }

  /** Stops, and continues the slot. The card must show what was saved. */
  async stopAndPlayOn({ title }: PublishedGame, presses: number): Promise<void> {
    await this.#game.page.setViewportSize(ordinaryWindow);
    await this.#game.stop();
    await this.#game.openGame(title);
    await this.#game.continueSlot(1);
    await this.#card.showsPresses(presses);
  }

  /** The page is closed with those of all players. */
  async close(): Promise<void> {}
}

/** A player whose frames are received but not shown, because showing them costs more than everything else. */
export class ReceivingPlayer implements WatchedPlayer {
  readonly http: PlayerHttp;
  readonly sessionId: string;
  readonly #receiver: StreamReceiver;

  private constructor(http: PlayerHttp, sessionId: string, receiver: StreamReceiver) {
    this.http = http;
    this.sessionId = sessionId;
    this.#receiver = receiver;
  }

  static async start({ slug }: PublishedGame): Promise<ReceivingPlayer> {
    const installed = await platform();
    const http = await PlayerHttp.signIn(installed.baseUrl, await installed.createPlayer());
    await choosesLightStream(http);
    const sessionId = await http.launch(slug);
    try {
      await http.whenRunning(sessionId);
      return new ReceivingPlayer(
        http,
        sessionId,
        await StreamReceiver.open((sdp) => http.offerStream(sessionId, sdp)),
      );
    } catch (error) {
      await http.stop(sessionId);
      throw error;
    }
  }

  takeLongestGap(): Promise<FrameGap> {
    return this.#receiver.takeLongestGap();
  }

  async close(): Promise<void> {
    await this.#receiver.close();
    await this.http.stop(this.sessionId);
  }
}

/** A release before it has no such choice: its players see what the site says. */
async function choosesLightStream(http: PlayerHttp): Promise<void> {
  expect(await http.chooseQuality(quality)).to.be.oneOf([200, 404]);
}

/** Starts recording how long the page's picture freezes. */
async function followFrames(game: GamePage): Promise<void> {
  await game.page.evaluate(await pageScript("frameGaps"));
}
