import type { Page } from "playwright-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { eventually } from "#test/support/eventually.ts";

interface Area { x: number; y: number; width: number; height: number }
type Colour = readonly [red: number, green: number, blue: number];

/** Reads the test card out of the decoded picture in the page; see games/testcard/README.md for what it shows where. */
export class TestCard {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Key presses so far, when the counter and the big block agree; undefined while the picture shows something else. */
  async presses(): Promise<number | undefined> {
    const { counter, keyBlock, cycle } = layout;
    const bits = Array.from({ length: counter.bits }, (_, bit) => ({ ...counter, x: counter.x + bit * counter.step }));
    const [block, ...lights] = await this.#colours([keyBlock, ...bits]);
    const count = lights.reduce((sum, light, bit) => sum + (brightness(light) > 160 ? 2 ** bit : 0), 0);
    const isDecided = lights.every((light) => brightness(light) > 160 || brightness(light) < 90);
    const expected = cycle[count % cycle.length];
    return block !== undefined && isDecided && expected !== undefined && isClose(block, colourOf(expected)) ? count : undefined;
  }

  /** Waits until the card shows this many key presses. */
  async showsPresses(count: number, timeoutMs = 30_000): Promise<void> {
    await eventually(async () => {
      const presses = await this.presses();
      if (presses !== count) throw new Error(`the card shows ${presses ?? "something else"}`);
      return true;
    }, { timeoutMs, intervalMs: 100, what: `the test card to show ${count} key presses` });
  }

  async isClickLit(): Promise<boolean> {
    return this.#isLit(layout.clickBlock);
  }

  async isKeyHeld(): Promise<boolean> {
    return this.#isLit(layout.heldBlock);
  }

  async #isLit(area: Area): Promise<boolean> {
    const [colour] = await this.#colours([area]);
    return colour !== undefined && brightness(colour) > 160;
  }

  async #colours(areas: Area[]): Promise<Colour[]> {
    return this.#page.evaluate<Colour[]>(`${JSON.stringify(areas)}.map((area) => joypodProbe.color(area))`);
  }
}

function colourOf(hex: string): Colour {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, value >> 8 & 255, value & 255];
}

function brightness([red, green, blue]: Colour): number {
  return (red + green + blue) / 3;
}

function isClose(a: Colour, b: Colour): boolean {
  return a.every((channel, index) => Math.abs(channel - (b[index] ?? 0)) < 70);
}
