import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { promised } from "#streamer/display/xConnection.ts";
import { InputDisplay } from "#test/support/session/inputReader.ts";

const steps = 3;

describe("a game's input", function () {
  this.timeout(30_000);
  let display: InputDisplay;

  before(async () => {
    display = await InputDisplay.start();
  });
  afterEach(() => display.leave());
  after(() => display.stop());

  /** Sends movements slowly enough for the game to answer each. */
  const moveInSteps = async (move: (step: number) => void) => {
    for (let step = 1; step <= steps; step++) {
      move(step);
      await display.settle();
    }
  };
  const readPosition = async (): Promise<[number, number]> => {
    const { client, root } = display.connection;
    const { rootX, rootY } = await promised<{ rootX: number; rootY: number }>((done) =>
      client.QueryPointer(root, done),
    );
    return [rootX, rootY];
  };

  for (const mode of ["xi2", "sdl-relative", "sdl-warp", "glfw"]) {
    it(`turns the view of ${mode} by 10 pixels for each 10 pixels without a locked pointer`, async () => {
      await display.play(mode);
      display.point(300, 200, true);
      await moveInSteps((step) => display.point(300 + 10 * step, 200));
      display.forget();
      await moveInSteps((step) => display.point(300 + 10 * (steps + step), 200));
      expect(display.distance()).to.deep.equal([10 * steps, 0]);
    });

    it(`turns the view of ${mode} by the distances of a locked pointer`, async () => {
      await display.play(mode);
      await moveInSteps(() => display.send({ t: "rel", x: 1, y: 1 }));
      display.forget();
      await moveInSteps(() => display.send({ t: "rel", x: 7, y: -3 }));
      expect(display.distance()).to.deep.equal([7 * steps, -3 * steps]);
    });
  }

  it("ends where the player points, also after a game that moved the pointer", async () => {
    await display.play("sdl-text");
    for (const [x, y] of [
      [0, 0],
      [1_279, 719],
      [640, 17],
    ] as const) {
      await eventually(
        async () => {
          display.point(x, y);
          await display.settle();
          const [atX, atY] = await readPosition();
          return atX === x && atY === y;
        },
        { what: `the pointer at ${x}, ${y}` },
      );
    }
  });

  it("has the player's Caps Lock and Num Lock, without a press of their keys", async () => {
    await display.play("sdl-text");
    for (const [caps, num, text] of [
      [1, 1, "A7B"],
      [0, 1, "a7b"],
      [0, 0, "ab"],
    ] as const) {
      display.forget();
      display.send({ t: "locks", caps, num });
      for (const c of ["KeyA", "Numpad7", "KeyB"]) display.send({ t: "key", c, d: 1 }, { t: "key", c, d: 0 });
      await eventually(() => display.read("text").join("") === text, { what: `the text ${text}` });
    }
    expect(display.read("key").filter((line) => /lock/i.test(line))).to.deep.equal([]);
  });

  it("reports when the game hides its pointer, and when it shows it again", async () => {
    await display.play("sdl-text");
    display.point(640, 360);
    await eventually(() => !display.cursor.isHidden());
    await display.leave();
    await display.play("sdl-warp");
    await eventually(() => display.cursor.isHidden());
    await display.leave();
    await eventually(() => !display.cursor.isHidden());
  });

  /** Presses a key that types `typed`, with the modifiers held by code and `key`. */
  const type = (code: string, typed: string, held: readonly (readonly [string, string])[] = []) => {
    for (const [c, k] of held) display.send({ t: "key", c, d: 1, k });
    display.send({ t: "key", c: code, d: 1, k: typed }, { t: "key", c: code, d: 0 });
    for (const [c] of held.toReversed()) display.send({ t: "key", c, d: 0 });
  };
  const shift = ["ShiftLeft", "Shift"] as const;
  const altGraph = ["AltRight", "AltGraph"] as const;

  for (const mode of ["sdl-text", "glfw"]) {
    it(`types in ${mode} what the player's keys type, at their positions`, async () => {
      await display.play(mode);
      type("KeyZ", "y");
      type("KeyY", "Z", [shift]);
      type("KeyY", "z");
      type("KeyQ", "@", [altGraph]);
      type("KeyQ", "q");
      type("Semicolon", "ö");
      type("Semicolon", "Ö", [shift]);
      type("Digit2", '"', [shift]);
      type("Minus", "ß");
      type("Minus", "?", [shift]);
      type("KeyE", "€", [altGraph]);
      type("KeyA", "ф");
      await display.settle();
      expect(display.read("text").join("")).to.equal('yZz@qöÖ"ß?€ф');
    });

    it(`types in ${mode} the characters of dead keys, input methods and the clipboard`, async () => {
      await display.play(mode);
      type("Equal", "Dead");
      type("KeyE", "é");
      type("KeyE", "e");
      display.send({ t: "text", s: "日本 Grüße, Zoë: 100 €\n" });
      type("KeyB", "b");
      await display.settle();
      expect(display.read("text").join("").replace("\r", "")).to.equal("ée日本 Grüße, Zoë: 100 €b");
    });
  }

  it("types text regardless of held modifiers and Caps Lock", async () => {
    await display.play("sdl-text");
    display.send(
      { t: "locks", caps: 1, num: 0 },
      { t: "key", c: "ControlLeft", d: 1, k: "Control" },
      { t: "key", c: "ShiftLeft", d: 1, k: "Shift" },
      { t: "text", s: "aÄß1" },
      { t: "key", c: "ShiftLeft", d: 0 },
      { t: "key", c: "ControlLeft", d: 0 },
    );
    await display.settle();
    type("KeyA", "A");
    type("KeyA", "a", [shift]);
    display.send({ t: "locks", caps: 0, num: 0 });
    type("KeyA", "a");
    await display.settle();
    expect(display.read("text").join("")).to.equal("aÄß1Aaa");
    expect(display.read("key")).to.include("down Left Ctrl");
  });
});
