import { expect } from "chai";
import { BarOpener, type BarState, type PointerAt } from "#web/play/barOpener.ts";

/** A bar of 600 × 60 in a page of 1000, closed, with its handle in view. */
const areas = {
  bar: { left: 200, top: -50, width: 600, height: 60 },
  handle: { left: 470, top: 0, width: 60, height: 10 },
};

const at = (clientX: number, clientY: number, more: Partial<PointerAt> = {}): PointerAt => ({
  clientX,
  clientY,
  buttons: 0,
  pointerType: "mouse",
  ...more,
});

function opener(): { bar: BarOpener; states: BarState[]; pass: (ms: number) => void } {
  const states: BarState[] = [];
  let timer: { ms: number; callback: () => void } | undefined;
  const bar = new BarOpener(
    (state) => void states.push(state),
    () => (states.at(-1) === "open" ? { ...areas, bar: { ...areas.bar, top: 0 } } : areas),
    (ms, callback) => {
      const set = (timer = { ms, callback });
      return () => {
        if (timer === set) timer = undefined;
      };
    },
  );
  const pass = (ms: number): void => {
    for (let left = ms; timer !== undefined && left >= timer.ms;) {
      const due = timer;
      timer = undefined;
      left -= due.ms;
      due.callback();
    }
  };
  return { bar, states, pass };
}

describe("BarOpener", () => {
  it("opens after a moment on the handle, and takes clicks only a moment later", () => {
    const { bar, states, pass } = opener();
    bar.move(at(500, 3));
    pass(249);
    expect(states).to.deep.equal([]);
    pass(250);
    expect(states).to.deep.equal(["openingAtHandle"]);
    pass(300);
    expect(states).to.deep.equal(["openingAtHandle", "open"]);
  });

  it("opens after a second at the very edge, but not on the rows below it or beside the bar", () => {
    const { bar, states, pass } = opener();
    for (const [x, y] of [
      [300, 2],
      [300, 9],
      [100, 0],
      [900, 0],
    ] as const) {
      bar.move(at(x, y));
      pass(10_000);
    }
    expect(states).to.deep.equal([]);
    bar.move(at(300, 1));
    pass(999);
    bar.move(at(310, 0));
    expect(states).to.deep.equal([]);
    pass(1_000);
    expect(states).to.deep.equal(["openingAtEdge"]);
  });

  it("stays closed after a press at the edge until the pointer has been elsewhere", () => {
    const { bar, states, pass } = opener();
    bar.move(at(300, 0));
    bar.press(at(300, 0, { buttons: 1 }));
    bar.move(at(301, 0, { buttons: 1 }));
    bar.move(at(301, 0));
    pass(10_000);
    expect(states).to.deep.equal([]);
    bar.move(at(301, 30));
    bar.move(at(301, 0));
    pass(1_000);
    expect(states).to.deep.equal(["openingAtEdge"]);
  });

  it("stays closed for a drag to the edge, and when the pointer leaves the page there", () => {
    const { bar, states, pass } = opener();
    bar.move(at(300, 0, { buttons: 1 }));
    bar.move(at(300, 0));
    pass(10_000);
    bar.move(at(300, 30));
    bar.move(at(300, 0));
    bar.leave();
    pass(10_000);
    expect(states).to.deep.equal([]);
    bar.move(at(300, 0));
    pass(1_000);
    expect(states, "back at the edge").to.deep.equal(["openingAtEdge"]);
  });

  it("closes when the pointer has been away for a moment", () => {
    const { bar, states, pass } = opener();
    bar.toggle();
    pass(300);
    bar.move(at(300, 50));
    bar.move(at(300, 100));
    bar.move(at(300, 50));
    pass(10_000);
    expect(states).to.deep.equal(["openingAtHandle", "open"]);
    bar.move(at(300, 100));
    bar.move(at(300, 200));
    pass(400);
    expect(states.at(-1)).to.equal("closed");
  });

  it("opens by a tap on the handle, and closes by a tap on it or on the game", () => {
    const { bar, states, pass } = opener();
    const finger = { pointerType: "touch", buttons: 1 };
    bar.move(at(500, 3, finger));
    bar.press(at(500, 3, finger));
    pass(10_000);
    expect(states).to.deep.equal([]);
    for (const isOnHandle of [true, false]) {
      bar.toggle();
      pass(300);
      expect(states.at(-1)).to.equal("open");
      if (isOnHandle) bar.toggle();
      else bar.press(at(300, 300, finger));
      expect(states.at(-1)).to.equal("closed");
    }
  });
});
