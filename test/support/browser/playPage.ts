import type { Page } from "playwright-core";
import { pageScript } from "./pageScripts.ts";
import { waitForColor, type Color, type Picture, type PictureArea } from "./picture.ts";

export interface ShownStatistics {
  /** As shown, such as `1 min 3 s`. */
  duration: string;
  cpuSeconds: number;
  peakMemoryMb: number;
}

/** The play page as a test sees it: what the decoded frames show, and the controls. */
export class PlayPage implements Picture {
  readonly page: Page;

  /** The page must have the probe; `on` puts it there. */
  constructor(page: Page) {
    this.page = page;
  }

  /** To be called before the page is opened or at any time on it; works on after reloads. */
  static async on(page: Page): Promise<PlayPage> {
    const probe = await pageScript("probe");
    await page.addInitScript(probe);
    await page.evaluate(probe);
    return new PlayPage(page);
  }

  /** Until a decoded frame of the present connection is on the page. */
  async waitUntilPlaying(timeoutMs = 60_000): Promise<void> {
    await this.page.locator('[data-phase="playing"]').waitFor({ timeout: timeoutMs });
  }

  /** Mean colour of the middle half of an area. */
  color(area: PictureArea): Promise<Color> {
    return this.page.evaluate(`joypodProbe.color(${JSON.stringify(area)})`);
  }

  /** The same of several areas, all in one frame. */
  colors(areas: readonly PictureArea[]): Promise<Color[]> {
    return this.page.evaluate(`${JSON.stringify(areas)}.map((area) => joypodProbe.color(area))`);
  }

  /** Waits until the middle of an area is about this colour, `#rrggbb`. */
  async waitForColor(
    area: PictureArea,
    color: string,
    options: { timeoutMs?: number; tolerance?: number } = {},
  ): Promise<void> {
    await waitForColor(this, area, color, options);
  }

  /** Size of the picture as it is sent, in pixels. */
  size(): Promise<{ width: number; height: number }> {
    return this.page.evaluate("joypodProbe.size()");
  }

  /** Frames decoded and shown since the page's video began. */
  frames(): Promise<number> {
    return this.page.evaluate("joypodProbe.frames()");
  }

  /**
   * How loud either channel of the sound is, from 0 to 1; zero until something was heard after the first
   * call.
   */
  loudness(): Promise<{ left: number; right: number }> {
    return this.page.evaluate("joypodProbe.loudness()");
  }

  /** Presses a key by its `KeyboardEvent.code`, as the player does. */
  async press(code: string): Promise<void> {
    await this.page.keyboard.press(code);
  }

  /** Moves the pointer to a place of the picture, in its pixels. */
  async moveTo(x: number, y: number): Promise<void> {
    const picture = await this.size();
    const box = await this.page.getByTestId("game-video").boundingBox();
    if (box === null) throw new Error("The video is not on the page.");
    const scale = Math.min(box.width / picture.width, box.height / picture.height);
    const left = box.x + (box.width - picture.width * scale) / 2;
    const top = box.y + (box.height - picture.height * scale) / 2;
    await this.page.mouse.move(left + x * scale, top + y * scale);
  }

  /** Stops the session by the page's controls and reads the statistics that the page then shows. */
  async stop(timeoutMs = 60_000): Promise<ShownStatistics> {
    await this.openControl("Stop");
    await this.page.getByRole("button", { name: "Save and stop" }).click();
    return this.statistics(timeoutMs);
  }

  /** What the page shows of an ended session. */
  async statistics(timeoutMs = 60_000): Promise<ShownStatistics> {
    await this.page.getByTestId("stop-statistics").waitFor({ timeout: timeoutMs });
    const shown = (name: string): Promise<string> => this.page.getByTestId(name).innerText();
    return {
      duration: await shown("stop-duration"),
      cpuSeconds: Number.parseFloat(await shown("stop-cpu")),
      peakMemoryMb: Number.parseFloat(await shown("stop-memory")),
    };
  }

  /**
   * Uses a control of the bar at the top edge, by name; the pointer at the edge opens the bar, so that the
   * game gets no keys.
   */
  async openControl(name: string): Promise<void> {
    const width = this.page.viewportSize()?.width ?? 0;
    await this.page.mouse.move(width / 2, 3);
    await this.page.getByRole("button", { name, exact: true }).click();
  }
}
