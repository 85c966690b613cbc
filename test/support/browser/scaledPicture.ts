import type { Color, Picture, PictureArea } from "./picture.ts";
import type { PlayPage } from "./playPage.ts";

/** A page's picture in pixels of the game's display, independent of the size that the player has chosen. */
export class ScaledPicture implements Picture {
  readonly #page: PlayPage;
  readonly #width: number;

  /** `width` is the width of the game's display in pixels. */
  constructor(page: PlayPage, width: number) {
    this.#page = page;
    this.#width = width;
  }

  async color(area: PictureArea): Promise<Color> {
    const [color] = await this.colors([area]);
    if (color === undefined) throw new Error("The page told no colour.");
    return color;
  }

  async colors(areas: readonly PictureArea[]): Promise<Color[]> {
    const scale = (await this.#page.size()).width / this.#width;
    return this.#page.colors(
      areas.map(({ x, y, width, height }) => ({
        x: x * scale,
        y: y * scale,
        width: width * scale,
        height: height * scale,
      })),
    );
  }
}
