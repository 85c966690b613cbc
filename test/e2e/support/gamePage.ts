import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { PlayPage, type ShownStatistics } from "#test/support/browser/playPage.ts";
import type { Player } from "./platform.ts";

const surfaceTestId = "game-surface";

/** From the launch to a picture on a busy machine. */
const startTimeoutMs = 90_000;

/** Actions of a player on the web page, by visible names. The page's context must have the probe. */
export class GamePage extends PlayPage {
  async signIn(baseUrl: string, { email, password }: Player): Promise<void> {
    await this.page.goto(baseUrl);
    await this.page.getByLabel("E-mail").fill(email);
    await this.page.getByLabel("Password").fill(password);
    await this.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await this.page.getByRole("heading", { name: "Games", exact: true }).waitFor();
  }

  /** Finds the game in the catalogue by title and opens its page. */
  async openGame(title: string): Promise<void> {
    await this.page
      .getByRole("link", { name: /all games/i })
      .first()
      .click();
    await this.page.getByLabel("Search games").fill(title);
    await this.page
      .getByRole("status")
      .filter({ hasText: /^1 game$/ })
      .waitFor();
    await this.page
      .getByRole("list", { name: "Games", exact: true })
      .getByRole("link", { name: title })
      .click();
    await this.page.getByRole("heading", { name: title, exact: true, level: 1 }).waitFor();
  }

  async startNewGame(slotNumber: 1 | 2 | 3): Promise<void> {
    await this.page.getByRole("button", { name: `New game in slot ${slotNumber}` }).click();
    await this.seesPicture();
  }

  async continueSlot(slotNumber: 1 | 2 | 3): Promise<void> {
    await this.page.getByRole("button", { name: `Continue slot ${slotNumber}` }).click();
    await this.seesPicture();
  }

  /** Waits until nothing covers the picture and new frames are being decoded. */
  async seesPicture(): Promise<void> {
    await this.page.locator("[data-phase=playing]").waitFor({ timeout: startTimeoutMs });
    const seen = await eventually(async () => (await this.frames()) || undefined, {
      timeoutMs: startTimeoutMs,
      what: "the first decoded frame",
    });
    await eventually(async () => (await this.frames()) > seen + 5, {
      timeoutMs: 15_000,
      what: "more decoded frames",
    });
  }

  /** Presses and releases a key in the game `times` times. */
  async pressKey(code: string, times = 1): Promise<void> {
    await this.page.getByTestId(surfaceTestId).focus();
    for (let count = 0; count < times; count++) await this.page.keyboard.press(code, { delay: 40 });
  }

  /** Clicks at a position of the game's picture, in its 1280 × 720 pixels. */
  async click(x: number, y: number): Promise<void> {
    await this.moveTo(x, y);
    await this.page.mouse.down();
    await this.page.mouse.up();
  }

  /** Returns the session's id from the address of the play page. */
  sessionId(): string {
    const id = /gs-[a-z0-9-]+/.exec(this.page.url())?.[0];
    if (id === undefined) throw new Error(`${this.page.url()} is not the page of a session`);
    return id;
  }

  /** Waits until the page shows that the session has ended. */
  async seesEnd(title: string | RegExp, timeoutMs = 60_000): Promise<void> {
    await this.page.getByRole("heading", { name: title }).waitFor({ timeout: timeoutMs });
  }
}

/** Expects figures that are plausible for a session of some seconds, and so were measured, not defaults. */
export function expectPlausible(
  { cpuSeconds, peakMemoryMb }: ShownStatistics,
  { minMemoryMb }: { minMemoryMb: number },
): void {
  expect(cpuSeconds, "CPU seconds").to.be.greaterThan(0);
  expect(cpuSeconds, "CPU seconds").to.be.lessThan(600);
  expect(peakMemoryMb, "peak memory").to.be.greaterThan(minMemoryMb);
  expect(peakMemoryMb, "peak memory").to.be.lessThan(8192);
}
