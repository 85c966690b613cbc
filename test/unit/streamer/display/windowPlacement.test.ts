import { expect } from "chai";
import type { Atoms } from "#streamer/display/atoms.ts";
import { type SizeHints, type WindowHints, parseSizeHints } from "#streamer/display/windowHints.ts";
import { classifyWindow, placeBeside, placeGame, viewOf } from "#streamer/display/windowPlacement.ts";

const display = { width: 1_280, height: 720 };
const atoms = new Proxy({}, { get: (_target, name) => atomNumber(String(name)) }) as Atoms;
const owner = 99;

const known = new Map<string, number>();
function atomNumber(name: string): number {
  if (!known.has(name)) known.set(name, known.size + 1_000);
  return known.get(name)!;
}

/** WM_NORMAL_HINTS of a window with these minimum and maximum sizes; 0 leaves both out. */
function sizes(min: [number, number] | 0 = 0, max: [number, number] | 0 = 0): SizeHints {
  const flags = (min ? 16 : 0) | (max ? 32 : 0);
  return parseSizeHints([flags, 0, 0, 0, 0, ...(min || [0, 0]), ...(max || [0, 0])]);
}
function fixed(width: number, height: number): SizeHints {
  return sizes([width, height], [width, height]);
}
function aWindow(hints: Partial<WindowHints> = {}): WindowHints {
  return {
    owner: undefined,
    types: [],
    states: [],
    sizes: sizes(),
    acceptsInput: true,
    isUnfocused: false,
    geometry: { x: 0, y: 0, width: 300, height: 120 },
    ...hints,
  };
}
function typed(...names: string[]): Partial<WindowHints> {
  return { types: names.map((name) => atomNumber(`_NET_WM_WINDOW_TYPE_${name}`)) };
}

describe("parseSizeHints", () => {
  it("returns no limits for a window without hints and for values that make no sense", () => {
    const none = { minWidth: 1, minHeight: 1, maxWidth: Infinity, maxHeight: Infinity };
    for (const words of [[], [48, 0, 0, 0, 0, 0, 0, 0, 0], [48, 0, 0, 0, 0, -5, -5, 65_535, 2 ** 31 - 1]])
      expect(parseSizeHints(words)).to.deep.equal({ ...none, aspect: undefined, hasPosition: false });
  });

  it("returns aspect ratios only if both limits are valid", () => {
    const words = [128, ...Array.from({ length: 10 }, () => 0), 4, 3, 16, 9];
    expect(parseSizeHints(words).aspect).to.deep.equal({ min: 4 / 3, max: 16 / 9 });
    expect(parseSizeHints([...words.slice(0, 13), 0, 0]).aspect).to.equal(undefined);
  });
});

describe("classifyWindow", () => {
  const classify = (hints: Partial<WindowHints>, shown?: typeof display) =>
    classifyWindow(aWindow(hints), atoms, display, shown);

  it("takes the first window of a program for the game, whatever its size, owner and input hint", () => {
    for (const hints of [{}, { sizes: fixed(300, 120) }, { owner }, { acceptsInput: false }, typed("NORMAL")])
      expect(classify(hints)).to.equal("game");
  });

  it("never takes a window of another type for the game, unless it is in full screen", () => {
    const passive =
      "DESKTOP DOCK TOOLBAR MENU UTILITY SPLASH DROPDOWN_MENU POPUP_MENU TOOLTIP NOTIFICATION COMBO DND";
    for (const type of passive.split(" ")) {
      expect(classify(typed(type)), type).to.equal("passive");
      const states = [atomNumber("_NET_WM_STATE_FULLSCREEN")];
      expect(classify({ ...typed(type), states }, display), type).to.equal("game");
    }
    expect(classify(typed("DIALOG"))).to.equal("dialog");
  });

  it("uses the first type that it knows", () => {
    expect(classify({ types: [7, ...typed("UTILITY", "NORMAL").types!] })).to.equal("passive");
    expect(classify(typed("NORMAL", "UTILITY"), display)).to.equal("passive"); // by its size
    expect(classify({ types: [7] })).to.equal("game");
  });

  it("takes windows beside the game for dialogs if they have an owner, and for passive if they are small", () => {
    expect(classify({ owner }, display)).to.equal("dialog");
    expect(classify({}, display)).to.equal("passive");
    expect(classify({ sizes: fixed(32, 32) }, display)).to.equal("passive");
  });

  it("takes a second window for the game if it is as large as one and accepts input", () => {
    const large = { geometry: { x: 0, y: 0, width: 800, height: 600 } };
    expect(classify(large, display)).to.equal("game");
    expect(classify({ sizes: fixed(800, 600) }, display)).to.equal("game");
    expect(classify({}, { width: 200, height: 100 })).to.equal("game");
    expect(classify({ ...large, acceptsInput: false }, display)).to.equal("passive");
    expect(classify({ ...large, isUnfocused: true }, display)).to.equal("passive");
  });
});

describe("placeGame", () => {
  it("fills the display with a window that can be resized", () => {
    for (const hints of [sizes(), sizes([320, 240]), sizes(0, [1_920, 1_080])])
      expect(placeGame(display, hints)).to.deep.equal({ x: 0, y: 0, ...display });
  });

  it("centres a window of fixed, limited or proportional size", () => {
    const fourToThree = { ...sizes(), aspect: { min: 4 / 3, max: 4 / 3 } };
    const wide = { ...sizes(), aspect: { min: 2, max: 3 } };
    expect(placeGame(display, fixed(800, 600))).to.deep.equal({ x: 240, y: 60, width: 800, height: 600 });
    expect(placeGame(display, sizes([320, 200], [640, 400]))).to.include({ x: 320, width: 640, height: 400 });
    expect(placeGame(display, fourToThree)).to.deep.equal({ x: 160, y: 0, width: 960, height: 720 });
    expect(placeGame(display, wide)).to.deep.equal({ x: 0, y: 40, width: 1_280, height: 640 });
  });

  it("makes a window no larger than the display", () => {
    expect(placeGame(display, fixed(1_920, 1_080))).to.deep.equal({ x: 0, y: 0, ...display });
  });
});

describe("placeBeside", () => {
  const game = { x: 240, y: 60, width: 800, height: 600 };
  const geometry = { x: 200, y: 150, width: 300, height: 120 };

  it("keeps a requested place, moved onto the display", () => {
    const at = (x: number, y: number) =>
      placeBeside(display, aWindow({ geometry: { ...geometry, x, y } }), game);
    expect(at(200, 150)).to.deep.equal(geometry);
    expect(at(-50, 5_000)).to.deep.equal({ ...geometry, x: 0, y: 600 });
  });

  it("centres a window that requests no place over its owner", () => {
    expect(placeBeside(display, aWindow(), game)).to.include({ x: 490, y: 300 });
    expect(placeBeside(display, aWindow(), undefined)).to.include({ x: 490, y: 300 });
    expect(placeBeside(display, aWindow({ sizes: { ...sizes(), hasPosition: true } }), game)).to.include({
      x: 0,
      y: 0,
    });
  });

  it("keeps the size within the window's limits and the display", () => {
    const huge = { x: 0, y: 0, width: 3_000, height: 50 };
    expect(placeBeside(display, aWindow({ geometry: huge, sizes: sizes([10, 90]) }), game)).to.deep.equal({
      x: 0,
      y: 315,
      width: 1_280,
      height: 90,
    });
  });
});

describe("viewOf", () => {
  const game = { x: 240, y: 60, width: 800, height: 600 };

  it("returns nothing without a game, for one that fills the display, and for a tiny one", () => {
    expect(viewOf(display, undefined, [game])).to.equal(undefined);
    expect(viewOf(display, { x: 0, y: 0, ...display }, [])).to.equal(undefined);
    expect(viewOf(display, { ...game, width: 100 }, [])).to.equal(undefined);
  });

  it("returns the game's window with all windows above it", () => {
    expect(viewOf(display, game, [])).to.deep.equal(game);
    expect(viewOf(display, game, [{ x: 300, y: 100, width: 10, height: 10 }])).to.deep.equal(game);
    expect(viewOf(display, game, [{ x: 100, y: -10, width: 10, height: 90 }])).to.deep.equal({
      x: 100,
      y: 0,
      width: 940,
      height: 660,
    });
    expect(viewOf(display, game, [{ x: -5, y: -5, width: 2_000, height: 2_000 }])).to.equal(undefined);
  });
});
