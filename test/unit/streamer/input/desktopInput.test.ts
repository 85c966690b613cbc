import { expect } from "chai";
import { desktopDeps } from "#test/support/session/desktopDeps.ts";
import {
  createDesktopInput,
  type DesktopInput,
  type DesktopInputDeps,
} from "#streamer/input/desktopInput.ts";
import { keyCodeOf } from "#streamer/input/keyCodes.ts";

const keyPress = 2,
  keyRelease = 3,
  buttonPress = 4,
  buttonRelease = 5,
  motion = 6;

describe("createDesktopInput", () => {
  let injected: number[][];
  let locked: number[][];
  let isBehind: boolean;
  let connection: DesktopInputDeps["connection"];
  let picture: { width: number; height: number };
  let desktop: DesktopInput;
  let position: { x: number; y: number };
  /** Replies that the display still owes; undefined if it replies at once. */
  let owed: (() => void)[] | undefined;

  beforeEach(() => {
    injected = [];
    locked = [];
    isBehind = false;
    const xtest = {
      KeyPress: keyPress,
      KeyRelease: keyRelease,
      ButtonPress: buttonPress,
      ButtonRelease: buttonRelease,
      MotionNotify: motion,
      FakeInput: (type: number, detail: number, _time: number, _window: number, x: number, y: number) => {
        injected.push([type, detail, x, y]);
        if (type === motion) position = { x: position.x + x, y: position.y + y };
      },
    } as const;
    const xkb = {
      UseCoreKbd: 0x100,
      ModMask: { Lock: 2, Mod2: 16 },
      UseExtension: () => undefined,
      LatchLockState: (...values: unknown[]) => void locked.push(values.slice(0, 3).map(Number)),
    } as const;
    position = { x: 0, y: 0 };
    owed = undefined;
    const client: (typeof connection)["client"] = {
      QueryPointer: (_window, done) => {
        const reply = () => done(null, { rootX: position.x, rootY: position.y, keyMask: 0 });
        if (owed) owed.push(reply);
        else reply();
      },
    };
    connection = {
      client,
      xtest,
      xkb,
      root: 1,
      size: { width: 1_280, height: 720 },
      isBehind: () => isBehind,
    };
    picture = { width: 1_280, height: 720 };
    desktop = createDesktopInput({
      ...desktopDeps({ monotonicMs: () => 0, setTimer: () => ({ cancel: () => undefined }) }),
      connection,
      picture: () => picture,
    });
  });
  const moveTo = (x: number, y: number) => {
    desktop.movePointer(x, y, false);
    return position;
  };

  it("presses keys by their position on the keyboard", () => {
    desktop.key("KeyA", true);
    desktop.key("KeyA", false);
    expect(injected).to.deep.equal([
      [keyPress, 38, 0, 0],
      [keyRelease, 38, 0, 0],
    ]);
  });

  it("ignores unknown key codes", () => {
    desktop.key("LaunchMail", true);
    desktop.key("__proto__", true);
    expect(injected).to.deep.equal([]);
  });

  it("maps a key of every keyboard row to the kernel's number", () => {
    const expected: Record<string, number> = {
      Escape: 9,
      Digit0: 19,
      Backspace: 22,
      KeyP: 33,
      Enter: 36,
      Quote: 48,
      Backslash: 51,
      ShiftRight: 62,
      F10: 76,
      NumpadDecimal: 91,
      IntlBackslash: 94,
      F12: 96,
      NumpadEnter: 104,
      AltRight: 108,
      ArrowUp: 111,
      Delete: 119,
      Pause: 127,
      Lang1: 130,
      F13: 191,
      F24: 202,
      MetaLeft: 133,
    };
    for (const [code, keyCode] of Object.entries(expected)) expect(keyCodeOf(code), code).to.equal(keyCode);
  });

  it("maps the corners of the picture to the corners of the screen", () => {
    expect(moveTo(0, 0)).to.deep.equal({ x: 0, y: 0 });
    expect(moveTo(65_535, 65_535)).to.deep.equal({ x: 1_279, y: 719 });
  });

  it("moves the pointer by distances only, which raw motion reports as they are", () => {
    position = { x: 600, y: 300 };
    const [from, to] = [610, 620].map((x) => Math.round((x / 1_279) * 65_535));
    for (const x of [from!, to!]) desktop.movePointer(x, Math.round((300 / 719) * 65_535), false);
    desktop.movePointerBy(-3, 4);
    expect(injected).to.deep.equal([
      [motion, 1, 10, 0],
      [motion, 1, 10, 0],
      [motion, 1, -3, 4],
    ]);
  });

  it("hits the pixel under the pointer when the picture is shown one to one", () => {
    const pixels = Array.from({ length: 1_280 }, (_, x) => x);
    expect(pixels.map((x) => moveTo(Math.round((x / 1_280) * 65_535), 0).x)).to.deep.equal(pixels);
  });

  it("holds exactly the keys and buttons that the player holds", () => {
    desktop.key("KeyW", true);
    desktop.button(2, true);
    injected.length = 0;
    desktop.hold(["ShiftLeft", "LaunchMail"], 1 + 4);
    expect(injected.map(([type, detail]) => [type, detail])).to.deep.equal([
      [keyRelease, 25],
      [keyPress, 50],
      [buttonRelease, 3],
      [buttonPress, 1],
      [buttonPress, 2],
    ]);
    injected.length = 0;
    desktop.hold(["ShiftLeft"], 1 + 4);
    expect(injected).to.deep.equal([]);
    desktop.hold([], 0);
    expect(injected.map(([type]) => type)).to.deep.equal([keyRelease, buttonRelease, buttonRelease]);
  });

  it("presses a key whose press was dropped once the display accepts input again", () => {
    isBehind = true;
    desktop.key("KeyW", true);
    isBehind = false;
    desktop.hold(["KeyW"], 0);
    expect(injected).to.deep.equal([[keyPress, 25, 0, 0]]);
  });

  it("switches Caps Lock and Num Lock without pressing a key", () => {
    desktop.setLocks({ caps: true, num: false });
    desktop.setLocks({ caps: false, num: true });
    isBehind = true;
    desktop.setLocks({ caps: false, num: false });
    expect(locked).to.deep.equal([
      [0x100, 18, 2],
      [0x100, 18, 16],
    ]);
    expect(injected).to.deep.equal([]);
  });

  it("keeps keys and buttons behind a movement that waits for the display, and merges movements", () => {
    owed = [];
    desktop.movePointer(0, 65_535, false);
    desktop.movePointer(0, 0, false);
    desktop.movePointer(65_535, 65_535, false);
    desktop.button(0, true);
    desktop.releaseAll();
    expect(injected).to.deep.equal([]);
    const replies = owed;
    owed = undefined;
    for (const reply of replies) reply();
    expect(injected).to.deep.equal([
      [motion, 1, 0, 719],
      [motion, 1, 1_279, 0],
      [buttonPress, 1, 0, 0],
      [buttonRelease, 1, 0, 0],
    ]);
  });

  it("presses and releases without the movements when the display does not reply", () => {
    owed = [];
    desktop.movePointer(65_535, 0, false);
    for (let press = 0; press < 200; press++) for (const isDown of [true, false]) desktop.key("KeyA", isDown);
    expect(injected.length).to.be.greaterThan(256);
    const count = injected.length;
    for (const reply of owed.splice(0)) reply();
    expect(injected.length).to.equal(count);
    desktop.key("KeyB", true);
    expect(injected.at(-1)).to.deep.equal([keyPress, 56, 0, 0]);
  });

  it("maps positions to the part of the display that is streamed", () => {
    connection.view = { x: 320, y: 120, width: 640, height: 480 }; // 960 by 720 of the picture.
    const [left, right] = [160 / 1_280, 1_120 / 1_280].map((share) => Math.round(share * 65_535));
    const reached = [0, left!, 32_768, right!].map((x) => moveTo(x, x));
    expect(reached.map(({ x, y }) => [x, y])).to.deep.equal([
      [320, 120],
      [320, 180],
      [640, 360],
      [959, 540],
    ]);
  });

  it("maps positions to a display that a game has resized, and borders to its edge", () => {
    connection.size = { width: 800, height: 600 }; // 960 by 720 of the picture.
    const [left, right] = [160 / 1_280, 1_120 / 1_280].map((share) => Math.round(share * 65_535));
    const reached = [0, left!, 32_768, right!, 65_535].map((x) => moveTo(x, 65_535));
    connection.size = { width: 2_560, height: 1_080 }; // 1280 by 540 of the picture.
    reached.push(...[0, 8_192, 65_535].map((y) => moveTo(65_535, y)));
    expect(reached.map(({ x, y }) => [x, y])).to.deep.equal([
      [0, 599],
      [0, 599],
      [400, 599],
      [799, 599],
      [799, 599],
      [2_559, 0],
      [2_559, 0],
      [2_559, 1_079],
    ]);
  });

  it("maps positions in a picture of another size and aspect ratio", () => {
    connection.size = { width: 1_920, height: 480 };
    picture = { width: 320, height: 90 }; // Of which the display has the lines from 5 to 85.
    const lines = [0, 5, 45, 85, 90].map((line) => moveTo(0, Math.round((line / 90) * 65_535)));
    expect(lines.map(({ y }) => y)).to.deep.equal([0, 0, 240, 479, 479]);
  });

  it("turns wheel notches into clicks of the wheel buttons", () => {
    desktop.wheel(-1, 2);
    expect(injected.map(([type, detail]) => [type, detail])).to.deep.equal([
      [buttonPress, 6],
      [buttonRelease, 6],
      [buttonPress, 5],
      [buttonRelease, 5],
      [buttonPress, 5],
      [buttonRelease, 5],
    ]);
  });

  it("releases each held key and button once", () => {
    desktop.key("KeyW", true);
    desktop.key("KeyA", true);
    desktop.key("KeyA", false);
    desktop.button(2, true);
    injected.length = 0;
    desktop.releaseAll();
    desktop.releaseAll();
    expect(injected).to.deep.equal([
      [keyRelease, 25, 0, 0],
      [buttonRelease, 3, 0, 0],
    ]);
  });

  it("drops input while the display is behind, except one release of each held key and button", () => {
    desktop.key("KeyW", true);
    desktop.key("KeyA", true);
    desktop.button(2, true);
    injected.length = 0;
    isBehind = true;
    desktop.movePointer(0, 0, false);
    desktop.movePointerBy(1, 1);
    desktop.wheel(0, 1);
    for (const isDown of [false, true, false]) {
      desktop.key("KeyW", isDown);
      desktop.key("KeyD", isDown);
    }
    desktop.releaseAll();
    expect(injected).to.deep.equal([
      [keyRelease, 25, 0, 0],
      [keyRelease, 38, 0, 0],
      [buttonRelease, 3, 0, 0],
    ]);
  });

  it("sends no release for a press that was dropped", () => {
    isBehind = true;
    desktop.key("KeyW", true);
    desktop.button(0, true);
    isBehind = false;
    desktop.releaseAll();
    expect(injected).to.deep.equal([]);
    desktop.key("KeyW", true);
    desktop.releaseAll();
    expect(injected).to.deep.equal([
      [keyPress, 25, 0, 0],
      [keyRelease, 25, 0, 0],
    ]);
  });

  it("keeps holding a key that is pressed again while the display is behind", () => {
    desktop.key("KeyW", true);
    isBehind = true;
    desktop.key("KeyW", true);
    desktop.key("KeyW", false);
    expect(injected).to.deep.equal([
      [keyPress, 25, 0, 0],
      [keyRelease, 25, 0, 0],
    ]);
  });
});
