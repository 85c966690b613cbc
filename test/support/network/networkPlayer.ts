import type { Browser, Page } from "playwright-core";
import { aUser } from "#test/factories/catalog.ts";
import { openWindow, type TestWindow } from "../browser/browser.ts";
import { connectionPathOf, type ConnectionPath } from "../browser/connectionPath.ts";
import { pageScript } from "../browser/pageScripts.ts";
import { PlayPage } from "../browser/playPage.ts";
import { pressPlay, signInAs } from "../browser/pages.ts";
import { eventually } from "../clocks/eventually.ts";
import type { PlayNetwork } from "./playNetwork.ts";

/** A player with a browser in the test network. */
export class NetworkPlayer {
  readonly page: Page;
  readonly game: PlayPage;
  readonly #window: TestWindow;

  private constructor(window: TestWindow, game: PlayPage) {
    this.#window = window;
    this.page = window.page;
    this.game = game;
  }

  /** Signs in and opens the game's page. */
  static async signIn(browser: Browser, { fixture }: PlayNetwork, name: string): Promise<NetworkPlayer> {
    const window = await openWindow(browser, { baseUrl: fixture.api.url, name });
    await window.page.addInitScript(await pageScript("connectionProbe"));
    const game = await PlayPage.on(window.page);
    await window.page.goto("/games/testcard");
    await signInAs(window.page, await aUser(fixture.api.deps));
    return new NetworkPlayer(window, game);
  }

  /** Launches the game. Resolves when its picture is shown. */
  async play({ fixture }: PlayNetwork): Promise<void> {
    await fixture.letRun(await pressPlay(this.page));
    await this.game.waitUntilPlaying();
  }

  /** Returns the current path of the connection. */
  path(): Promise<ConnectionPath | undefined> {
    return connectionPathOf(this.page);
  }

  /** Waits until this many more frames were shown. Returns the milliseconds that this took. */
  async showsMore(frames: number, timeoutMs: number): Promise<number> {
    const started = performance.now();
    let last = await this.game.frames();
    let shown = 0;
    await eventually(
      async () => {
        const now = await this.game.frames();
        // The counter of a new connection starts at zero.
        shown += now >= last ? now - last : now;
        last = now;
        return shown >= frames;
      },
      { timeoutMs, what: `${frames} more frames` },
    );
    return performance.now() - started;
  }

  async close(failed: boolean): Promise<void> {
    await this.#window.close({ failed });
  }
}
