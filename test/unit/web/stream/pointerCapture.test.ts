import { expect } from "chai";
import type { StreamInput } from "#contracts/stream.ts";
import { movementUnitOf, PointerCapture, type PointerSample } from "#web/stream/pointerCapture.ts";

const at = (clientX: number, clientY: number, buttons = 0): PointerSample => ({
  clientX,
  clientY,
  movementX: 0,
  movementY: 0,
  buttons,
});
const by = (movementX: number, movementY: number): PointerSample => ({
  clientX: 0,
  clientY: 0,
  movementX,
  movementY,
  buttons: 0,
});

/** A picture of 640 × 360 in the page's corner. */
function capture(unit = 1): { pointer: PointerCapture; sent: StreamInput[] } {
  const sent: StreamInput[] = [];
  return {
    pointer: new PointerCapture((message) => void sent.push(message), {
      area: () => ({ left: 0, top: 0, width: 640, height: 360 }),
      movementUnit: () => unit,
    }),
    sent,
  };
}

describe("PointerCapture", () => {
  it("sends the position before a press", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(640, 0, 1), false);
    expect(sent).to.deep.equal([
      { t: "move", x: 65_535, y: 0, e: 1 },
      { t: "btn", b: 0, d: 1 },
    ]);
  });

  it("sends a second button whose press the browser reports as a movement", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(0, 0, 1), false);
    pointer.sample(at(0, 0, 3), false);
    pointer.sample(at(0, 0, 2), false);
    expect(sent.slice(2)).to.deep.equal([
      { t: "btn", b: 2, d: 1 },
      { t: "btn", b: 0, d: 0 },
    ]);
  });

  it("releases a button that goes up on the page's controls", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(0, 0, 3), false);
    pointer.sampleOnPage({ buttons: 2 });
    expect(pointer.buttons).to.equal(2);
    expect(sent.slice(3)).to.deep.equal([{ t: "btn", b: 0, d: 0 }]);
  });

  it("does not press a button that was pressed on the page's controls and dragged into the picture", () => {
    const { pointer, sent } = capture();
    pointer.sampleOnPage({ buttons: 1 });
    pointer.sample(at(0, 0, 1), false);
    pointer.sample(at(0, 0, 3), false);
    pointer.sample(at(0, 0, 2), false);
    pointer.sample(at(0, 0, 3), false);
    expect(sent.slice(1)).to.deep.equal([
      { t: "btn", b: 2, d: 1 },
      { t: "btn", b: 0, d: 1 },
    ]);
  });

  it("sends every button by its number", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(0, 0, 31), false);
    expect(sent.slice(1).map((message) => message.t === "btn" && message.b)).to.deep.equal([0, 1, 2, 3, 4]);
  });

  it("releases the buttons at the current position when the browser takes the pointer away", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(640, 360, 3), false);
    pointer.cancel();
    expect(sent.slice(3)).to.deep.equal([
      { t: "btn", b: 0, d: 0 },
      { t: "btn", b: 2, d: 0 },
    ]);
  });

  it("sends nothing when the pointer has not moved", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(100, 100), false);
    pointer.sample(at(100, 100), false);
    expect(sent).to.have.length(1);
  });

  it("sends steps of the mouse as pixels of the game and carries fractions over", () => {
    const { pointer, sent } = capture(2);
    pointer.sample(by(0.25, -3), true);
    pointer.sample(by(0.25, 0), true);
    expect(sent).to.deep.equal([
      { t: "rel", x: 0, y: -6 },
      { t: "rel", x: 1, y: 0 },
    ]);
  });

  it("marks the first position after the pointer entered or was unlocked", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(0, 0), false);
    pointer.sample(at(640, 0), false);
    pointer.leave();
    pointer.sample(at(640, 0), false);
    pointer.sample(by(1, 0), true);
    pointer.sample(at(0, 0), false);
    expect(sent).to.deep.equal([
      { t: "move", x: 0, y: 0, e: 1 },
      { t: "move", x: 65_535, y: 0 },
      { t: "move", x: 65_535, y: 0, e: 1 },
      { t: "rel", x: 1, y: 0 },
      { t: "move", x: 0, y: 0, e: 1 },
    ]);
  });

  it("presses only held buttons again, at the pointer's position, after the streamer has released them", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(0, 0, 3), false);
    pointer.sample(at(640, 0, 2), false);
    sent.length = 0;
    pointer.pressAgain();
    pointer.sample(at(640, 0, 0), false);
    expect(sent).to.deep.equal([
      { t: "move", x: 65_535, y: 0, e: 1 },
      { t: "btn", b: 2, d: 1 },
      { t: "btn", b: 2, d: 0 },
    ]);
  });

  it("sends the position again with the next event after the streamer released everything", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(640, 0), false);
    pointer.pressAgain();
    expect(sent).to.have.length(1);
    pointer.sample(at(640, 0, 1), false);
    expect(sent.slice(1)).to.deep.equal([
      { t: "move", x: 65_535, y: 0, e: 1 },
      { t: "btn", b: 0, d: 1 },
    ]);
  });

  it("presses the buttons of a locked pointer again without a position, which would turn the view", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(640, 0), false);
    pointer.sample({ ...by(3, 0), buttons: 1 }, true);
    sent.length = 0;
    pointer.pressAgain();
    expect(sent).to.deep.equal([{ t: "btn", b: 0, d: 1 }]);
  });

  it("sends a held button again after a reset", () => {
    const { pointer, sent } = capture();
    pointer.sample(at(0, 0, 1), false);
    pointer.reset();
    pointer.sample(at(0, 0, 1), false);
    expect(sent.filter(({ t }) => t === "btn")).to.deep.equal([
      { t: "btn", b: 0, d: 1 },
      { t: "btn", b: 0, d: 1 },
    ]);
  });
});

describe("movementUnitOf", () => {
  it("undoes the zoom that Firefox applies to movements", () => {
    const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    expect(movementUnitOf(firefox, 1.5)).to.equal(1.5);
    expect(movementUnitOf("Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0 Safari/537.36", 1.5)).to.equal(1);
  });
});
