import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { takeMomentPictures } from "#streamer/saves/momentPictures.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const { everySeconds, plainBytes, bytes } = limits.save.picture;
const everyMs = everySeconds * 1_000;

describe("takeMomentPictures", () => {
  let clock: FakeClock;
  let isPlaying: boolean;
  let next: Buffer;
  let kept: number[];
  let taken: number;
  let pictures: ReturnType<typeof takeMomentPictures>;

  beforeEach(() => {
    clock = new FakeClock();
    [isPlaying, next, kept, taken] = [true, Buffer.alloc(5_000), [], 0];
    pictures = takeMomentPictures({
      clock,
      takeStill(onStill) {
        taken++;
        onStill(next);
      },
      isPlaying: () => isPlaying,
      onPicture: ({ length }) => kept.push(length),
    });
  });
  afterEach(() => pictures.stop());

  it("takes one at each interval until it is stopped", async () => {
    await clock.advance(everyMs - 1);
    expect(kept).to.deep.equal([]);
    await clock.advance(1);
    await clock.advance(everyMs);
    expect(kept).to.deep.equal([5_000, 5_000]);
    pictures.stop();
    await clock.advance(5 * everyMs);
    expect(taken).to.equal(2);
  });

  it("takes none unless the game runs", async () => {
    isPlaying = false;
    await clock.advance(3 * everyMs);
    expect(taken).to.equal(0);
  });

  it("keeps the picture from before one of a single colour or of too many bytes", async () => {
    for (const length of [plainBytes, bytes + 1, plainBytes + 1]) {
      next = Buffer.alloc(length);
      await clock.advance(everyMs);
    }
    expect(kept).to.deep.equal([plainBytes + 1]);
  });
});
