import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { eventually } from "../clocks/eventually.ts";
import { colorOf, waitForColor, type Color, type Picture, type PictureArea } from "./picture.ts";

const colors = {
  white: "#ffffff",
  dark: "#202020",
  orange: layout.pointer.color,
  red: "#c00000",
  green: "#00c000",
  blue: "#0000c0",
  yellow: "#c0c000",
  cyan: "#00c0c0",
  magenta: "#c000c0",
} as const;
export type TestCardColor = keyof typeof colors;

/** Reads the test card in a decoded picture. See games/testcard/README.md for its layout. */
export class TestCard {
  readonly #picture: Picture;

  constructor(picture: Picture) {
    this.#picture = picture;
  }

  /** Waits until an area has this colour. */
  async shows(area: PictureArea, color: TestCardColor): Promise<void> {
    await waitForColor(this.#picture, area, colors[color]);
  }

  /** Waits until the card shows this many key presses. */
  async showsPresses(count: number, timeoutMs = 30_000): Promise<void> {
    await eventually(
      async () => {
        const presses = await this.presses();
        if (presses !== count) throw new Error(`the card shows ${presses ?? "something else"}`);
        return true;
      },
      { timeoutMs, intervalMs: 100, what: `the test card to show ${count} key presses` },
    );
  }

  /** Runs `press`, which presses one key once, and waits until the card shows it. */
  async showsPressOf(press: () => Promise<unknown>): Promise<void> {
    const before = await eventually(() => this.presses(), { what: "the test card" });
    await press();
    await this.showsPresses(before + 1);
  }

  /**
   * Returns the key presses so far if the counter and the big block agree; undefined if the picture shows
   * something else.
   */
  async presses(): Promise<number | undefined> {
    const { counter, keyBlock, cycle } = layout;
    const bits = Array.from({ length: counter.bits }, (_, bit) => ({
      ...counter,
      x: counter.x + bit * counter.step,
    }));
    const [block, ...lights] = await this.#picture.colors([keyBlock, ...bits]);
    const count = lights.reduce((sum, light, bit) => sum + (brightness(light) > 160 ? 2 ** bit : 0), 0);
    const isDecided = lights.every((light) => brightness(light) > 160 || brightness(light) < 90);
    const expected = cycle[count % cycle.length];
    return block !== undefined && isDecided && expected !== undefined && isClose(block, colorOf(expected))
      ? count
      : undefined;
  }

  async isClickLit(): Promise<boolean> {
    return brightness(await this.#picture.color(layout.clickBlock)) > 160;
  }

  async isKeyHeld(): Promise<boolean> {
    return brightness(await this.#picture.color(layout.heldBlock)) > 160;
  }
}

function brightness([red, green, blue]: Color): number {
  return (red + green + blue) / 3;
}

function isClose(a: Color, b: Color): boolean {
  return a.every((channel, at) => Math.abs(channel - (b[at] ?? 0)) < 70);
}
