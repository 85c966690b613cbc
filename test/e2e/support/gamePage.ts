import { expect } from "chai";
import type { Page } from "playwright-core";
import { eventually } from "#test/support/eventually.ts";
import type { Player } from "./platform.ts";

const surfaceTestId = "game-surface";

/** From the launch to a picture, on a busy machine. */
const startTimeoutMs = 90_000;

export interface StopStatistics { durationText: string; cpuSeconds: number; peakMemoryMb: number }

/** What a player does on the web page, by the names that they see. */
export class GamePage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async signIn(baseUrl: string, { email, password }: Player): Promise<void> {
    await this.page.goto(baseUrl);
    await this.page.getByLabel("E-mail").fill(email);
    await this.page.getByLabel("Password").fill(password);
    await this.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await this.page.getByRole("heading", { name: "Games", exact: true }).waitFor();
  }

  /** Finds the game in the catalogue by its title and opens its page. */
  async openGame(title: string): Promise<void> {
    await this.page.getByRole("link", { name: /all games/i }).first().click();
    await this.page.getByLabel("Search games").fill(title);
    await this.page.getByRole("status").filter({ hasText: /^1 game$/ }).waitFor();
    await this.page.getByRole("list", { name: "Games", exact: true }).getByRole("link", { name: title }).click();
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

  /** Waits until decoded frames arrive, and go on arriving. */
  async seesPicture(): Promise<void> {
    await this.page.getByTestId("game-video").waitFor({ timeout: startTimeoutMs });
    const frames = (): Promise<number> => this.page.evaluate<number>("joypodProbe.frames()");
    const seen = await eventually(async () => await frames() || undefined, { timeoutMs: startTimeoutMs, what: "the first decoded frame" });
    await eventually(async () => await frames() > seen + 5, { timeoutMs: 15_000, what: "more decoded frames" });
  }

  /** Presses and releases a key in the game, as often as asked. */
  async pressKey(code: string, times = 1): Promise<void> {
    await this.page.getByTestId(surfaceTestId).focus();
    for (let count = 0; count < times; count++) await this.page.keyboard.press(code, { delay: 40 });
  }

  /** Clicks at a place of the game's picture, in its 1280 × 720 pixels. */
  async click(x: number, y: number): Promise<void> {
    const box = await this.page.getByTestId(surfaceTestId).boundingBox();
    if (box === null) throw new Error("the game's picture is not on the page");
    const scale = Math.min(box.width / 1280, box.height / 720);
    const left = box.x + (box.width - 1280 * scale) / 2;
    const top = box.y + (box.height - 720 * scale) / 2;
    await this.page.mouse.click(left + x * scale, top + y * scale, { delay: 40 });
  }

  /** The session's id, from the address of the play page. */
  sessionId(): string {
    const id = /gs-[a-z0-9]+/.exec(this.page.url())?.[0];
    if (id === undefined) throw new Error(`${this.page.url()} is not the page of a session`);
    return id;
  }

  /** Stops the game by the page's button and reads the statistics that it shows. */
  async stop(): Promise<StopStatistics> {
    // The bar hides while one plays: Ctrl+Alt+M and the like lead to it, as a keyboard user would.
    await this.page.mouse.move(640, 1);
    await this.page.getByRole("button", { name: "Stop", exact: true }).click();
    await this.page.getByRole("button", { name: "Save and stop" }).click();
    return this.readStatistics();
  }

  async readStatistics(): Promise<StopStatistics> {
    const text = async (key: string): Promise<string> => await this.page.getByTestId(`stop-${key}`).textContent({ timeout: 60_000 }) ?? "";
    return {
      durationText: await text("duration"),
      cpuSeconds: Number.parseFloat(await text("cpu")),
      peakMemoryMb: Number.parseFloat(await text("memory")),
    };
  }

  /** Waits for the page's word that the session is over. */
  async seesEnd(title: string | RegExp, timeoutMs = 60_000): Promise<void> {
    await this.page.getByRole("heading", { name: title }).waitFor({ timeout: timeoutMs });
  }
}

/** Figures of a session of some seconds that cannot be told from made-up ones only if they were measured. */
export function expectPlausible({ cpuSeconds, peakMemoryMb }: StopStatistics, { minMemoryMb }: { minMemoryMb: number }): void {
  expect(cpuSeconds, "CPU seconds").to.be.greaterThan(0);
  expect(cpuSeconds, "CPU seconds").to.be.lessThan(600);
  expect(peakMemoryMb, "peak memory").to.be.greaterThan(minMemoryMb);
  expect(peakMemoryMb, "peak memory").to.be.lessThan(8192);
}
