import { eventually } from "../clocks/eventually.ts";
import type { Page } from "playwright-core";
import { pageScript } from "./pageScripts.ts";
import { waitForColor, type Color, type Picture, type PictureArea } from "./picture.ts";

export interface ShownStatistics {
  /** Text on the page, such as `1 min 3 s`. */
  duration: string;
  cpuSeconds: number;
  peakMemoryMb: number;
}

/** The play page: the content of decoded frames, and the controls. */
export class PlayPage implements Picture {
  readonly page: Page;

  /** The page must have the probe, which `on` inserts. */
  constructor(page: Page) {
    this.page = page;
  }

  /** Call it before the page is opened, or at any time on it. Works after reloads. */
  static async on(page: Page): Promise<PlayPage> {
    const probe = await pageScript("probe");
    await page.addInitScript(probe);
    await page.evaluate(probe);
    return new PlayPage(page);
  }

  /** Waits until a decoded frame of the current connection is on the page. */
  async waitUntilPlaying(timeoutMs = 60_000): Promise<void> {
    await this.page.locator('[data-phase="playing"]').waitFor({ timeout: timeoutMs });
  }

  /** Returns the mean colour of the middle half of an area. */
  color(area: PictureArea): Promise<Color> {
    return this.page.evaluate(`joypodProbe.color(${JSON.stringify(area)})`);
  }

  /** Returns the same for several areas of one frame. */
  colors(areas: readonly PictureArea[]): Promise<Color[]> {
    return this.page.evaluate(`${JSON.stringify(areas)}.map((area) => joypodProbe.color(area))`);
  }

  /** Waits until the middle of an area has approximately this colour, `#rrggbb`. */
  async waitForColor(
    area: PictureArea,
    color: string,
    options: { timeoutMs?: number; tolerance?: number } = {},
  ): Promise<void> {
    await waitForColor(this, area, color, options);
  }

  /** Returns the size of the picture as it is sent, in pixels. */
  size(): Promise<{ width: number; height: number }> {
    return this.page.evaluate("joypodProbe.size()");
  }

  /** Returns the number of frames decoded and shown by the page's video. */
  frames(): Promise<number> {
    return this.page.evaluate("joypodProbe.frames()");
  }

  /**
   * Returns the loudness of each channel, from 0 to 1; zero until sound was received after the first call.
   */
  loudness(): Promise<{ left: number; right: number }> {
    return this.page.evaluate("joypodProbe.loudness()");
  }

  /** Presses a key by its `KeyboardEvent.code`. */
  async press(code: string): Promise<void> {
    await this.page.keyboard.press(code);
  }

  /** Moves the pointer to a position in the picture, in its pixels. */
  async moveTo(x: number, y: number): Promise<void> {
    const picture = await this.size();
    const box = await this.page.getByTestId("game-video").boundingBox();
    if (box === null) throw new Error("The video is not on the page.");
    const scale = Math.min(box.width / picture.width, box.height / picture.height);
    const left = box.x + (box.width - picture.width * scale) / 2;
    const top = box.y + (box.height - picture.height * scale) / 2;
    await this.page.mouse.move(left + x * scale, top + y * scale);
  }

  /** Stops the session with the page's controls, and returns the statistics that the page then shows. */
  async stop(timeoutMs = 60_000): Promise<ShownStatistics> {
    await this.openControl("Stop");
    await this.page.getByRole("button", { name: "Save and stop" }).click();
    return this.statistics(timeoutMs);
  }

  /** Returns the statistics that the page shows after a session. */
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
   * Uses a control of the bar at the top edge, by name. The pointer opens the bar on its handle, so the game
   * gets no keys.
   */
  async openControl(name: string): Promise<void> {
    const { page } = this;
    const center = (page.viewportSize()?.width ?? 0) / 2;
    const open = page.locator(".controls-open");
    await eventually(
      async () => {
        await page.mouse.move(center, 3);
        const isOpen = await open.waitFor({ timeout: 2_000 }).then(
          () => true,
          () => false,
        );
        // A bar that was just closing under the pointer opens again only when the pointer returns.
        if (!isOpen) await page.mouse.move(center, 300);
        return isOpen;
      },
      { what: "the bar of controls to open" },
    );
    await page.getByRole("button", { name, exact: true }).click();
  }
}
