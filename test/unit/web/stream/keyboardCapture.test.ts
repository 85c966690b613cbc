import { expect } from "chai";
import { KeyInput, type StreamInput } from "#contracts/stream.ts";
import { KeyboardCapture, isMenuChord, type KeyPress } from "#web/stream/keyboardCapture.ts";

/** The key of a modifier names the modifier without its side. */
const press = (code: string, more: Partial<KeyPress> = {}): KeyPress => ({
  code,
  key: code.replace(/^(Control|Alt|Shift|Meta)(Left|Right)$/, "$1"),
  repeat: false,
  ctrlKey: false,
  altKey: false,
  shiftKey: false,
  metaKey: false,
  getModifierState: () => false,
  ...more,
});
const inAltGraph = { getModifierState: (modifier: string) => modifier === "AltGraph" };

const windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0.0.0";
const linux = "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0";
const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.5 Safari/605.1.15";

function capture(userAgent = windows): { keyboard: KeyboardCapture; sent: StreamInput[] } {
  const sent: StreamInput[] = [];
  return { keyboard: new KeyboardCapture((message) => void sent.push(message), userAgent), sent };
}

describe("KeyboardCapture", () => {
  it("sends presses and releases by physical key", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("KeyQ"));
    keyboard.up(press("KeyQ"));
    expect(sent).to.deep.equal([
      { t: "key", c: "KeyQ", d: 1 },
      { t: "key", c: "KeyQ", d: 0 },
    ]);
    expect(sent.every((message) => KeyInput.safeParse(message).success)).to.equal(true);
  });

  it("sends no repeats of a held key, because the game's display makes them", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("KeyQ"));
    keyboard.down(press("KeyQ", { repeat: true }));
    expect(sent).to.have.length(1);
  });

  it("presses only held keys again after the streamer has released them", () => {
    const { keyboard, sent } = capture();
    for (const code of ["KeyW", "ShiftLeft", "KeyA"]) keyboard.down(press(code));
    keyboard.up(press("KeyA"));
    sent.length = 0;
    keyboard.pressAgain();
    keyboard.up(press("KeyW"));
    expect(sent).to.deep.equal([
      { t: "key", c: "KeyW", d: 1 },
      { t: "key", c: "ShiftLeft", d: 1 },
      { t: "key", c: "KeyW", d: 0 },
    ]);
  });

  it("ignores keys without a code, which on-screen keyboards send", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press(""));
    keyboard.up(press(""));
    expect(sent).to.deep.equal([]);
  });

  it("releases all held keys when a Meta key goes up", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("MetaLeft"));
    keyboard.down(press("KeyC"));
    keyboard.up(press("MetaLeft"));
    expect(sent.slice(2)).to.deep.equal([
      { t: "key", c: "MetaLeft", d: 0 },
      { t: "key", c: "KeyC", d: 0 },
    ]);
  });

  it("releases both Shift keys with the last one, because Windows does not report the first release", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("KeyW"));
    for (const code of ["ShiftLeft", "ShiftRight"]) keyboard.down(press(code, { shiftKey: true }));
    keyboard.up(press("ShiftRight"));
    expect(sent.slice(3)).to.deep.equal([
      { t: "key", c: "ShiftRight", d: 0 },
      { t: "key", c: "ShiftLeft", d: 0 },
    ]);
  });

  it("keeps a Shift key held while the other one is released, if both releases are reported", () => {
    const { keyboard, sent } = capture();
    for (const code of ["ShiftLeft", "ShiftRight"]) keyboard.down(press(code, { shiftKey: true }));
    keyboard.up(press("ShiftRight", { shiftKey: true }));
    expect(sent.slice(2)).to.deep.equal([{ t: "key", c: "ShiftRight", d: 0 }]);
  });

  it("keeps a modifier held on Linux while its twin is released, although Chromium reports the last release", () => {
    for (const [modifier, flag] of [
      ["Shift", "shiftKey"],
      ["Control", "ctrlKey"],
      ["Alt", "altKey"],
    ] as const) {
      const { keyboard, sent } = capture(linux);
      for (const side of ["Left", "Right"]) keyboard.down(press(`${modifier}${side}`, { [flag]: true }));
      keyboard.up(press(`${modifier}Right`));
      keyboard.down(press("KeyW", { [flag]: true }));
      expect(sent.slice(2)).to.deep.equal([
        { t: "key", c: `${modifier}Right`, d: 0 },
        { t: "key", c: "KeyW", d: 1 },
      ]);
    }
  });

  it("releases modifiers that the next press reports as up, because macOS hides releases during screenshots", () => {
    const { keyboard, sent } = capture(mac);
    keyboard.down(press("MetaLeft", { metaKey: true }));
    keyboard.down(press("ShiftLeft", { metaKey: true, shiftKey: true }));
    keyboard.down(press("KeyW"));
    expect(sent.slice(2)).to.deep.equal([
      { t: "key", c: "MetaLeft", d: 0 },
      { t: "key", c: "ShiftLeft", d: 0 },
      { t: "key", c: "KeyW", d: 1 },
    ]);
  });

  it("releases only the modifiers that another key's release reports as up", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("ControlLeft", { ctrlKey: true }));
    keyboard.down(press("AltLeft", { ctrlKey: true, altKey: true }));
    keyboard.down(press("KeyW", { ctrlKey: true, altKey: true }));
    keyboard.up(press("KeyW", { ctrlKey: true }));
    expect(sent.slice(3)).to.deep.equal([
      { t: "key", c: "KeyW", d: 0 },
      { t: "key", c: "AltLeft", d: 0 },
    ]);
  });

  it("keeps the Control and Alt keys that Windows combines to AltGraph, although events report them as up", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("ControlLeft", { ctrlKey: true }));
    keyboard.down(press("AltRight", { key: "AltGraph", ...inAltGraph }));
    for (const code of ["KeyQ", "KeyE"]) keyboard.down(press(code, inAltGraph));
    expect(sent).to.deep.equal(
      ["ControlLeft", "AltRight", "KeyQ", "KeyE"].map((c) => ({ t: "key", c, d: 1 })),
    );
  });

  it("keeps AltRight as AltGraph when AltLeft is released, and a Control key that is mapped to Caps Lock", () => {
    const { keyboard, sent } = capture(linux);
    keyboard.down(press("AltLeft", { altKey: true }));
    keyboard.down(press("AltRight", { key: "AltGraph", altKey: true, ...inAltGraph }));
    keyboard.down(press("ControlLeft", { key: "CapsLock", altKey: true, ...inAltGraph }));
    keyboard.up(press("AltLeft", inAltGraph));
    keyboard.down(press("KeyQ"));
    expect(sent.slice(3)).to.deep.equal([
      { t: "key", c: "AltLeft", d: 0 },
      { t: "key", c: "KeyQ", d: 1 },
    ]);
  });

  it("taps Caps Lock each time macOS switches it on or off", () => {
    const { keyboard, sent } = capture(mac);
    const pressed = [
      { t: "key", c: "CapsLock", d: 1 },
      { t: "key", c: "CapsLock", d: 0 },
    ];
    keyboard.down(press("CapsLock"));
    expect(sent).to.deep.equal(pressed);
    keyboard.up(press("CapsLock"));
    expect(sent).to.deep.equal([...pressed, ...pressed]);
  });

  it("presses Caps Lock once on systems that report its press and release", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("CapsLock"));
    keyboard.up(press("CapsLock"));
    expect(sent).to.have.length(2);
  });

  it("taps keys of Japanese keyboards whose release Windows does not report", () => {
    for (const [code, key] of [
      ["Backquote", "Zenkaku"],
      ["Backquote", "Hankaku"],
      ["KanaMode", "Hiragana"],
      ["KanaMode", "Katakana"],
      ["KanaMode", "Romaji"],
    ] as const) {
      const { keyboard, sent } = capture();
      keyboard.down(press(code, { key }));
      keyboard.pressAgain();
      expect(sent, key).to.deep.equal([
        { t: "key", c: code, d: 1 },
        { t: "key", c: code, d: 0 },
      ]);
    }
  });

  it("ignores the release of the previous script, which Windows reports when such a key is pressed", () => {
    const { keyboard, sent } = capture();
    keyboard.up(press("Backquote", { key: "Hankaku" }));
    keyboard.down(press("Backquote", { key: "Zenkaku" }));
    keyboard.up(press("Backquote", { key: "Hankaku" }));
    expect(sent).to.deep.equal([
      { t: "key", c: "Backquote", d: 1 },
      { t: "key", c: "Backquote", d: 0 },
    ]);
  });

  it("does not press Caps Lock when its key selects a script on a Japanese keyboard on Windows", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("CapsLock", { key: "Alphanumeric" }));
    keyboard.up(press("CapsLock", { key: "Hiragana" }));
    expect(sent).to.deep.equal([]);
  });

  it("releases Caps Lock even if its key has another value because Shift was released first", () => {
    const { keyboard, sent } = capture();
    keyboard.down(press("CapsLock", { shiftKey: true }));
    keyboard.up(press("CapsLock", { key: "Alphanumeric" }));
    expect(sent).to.deep.equal([
      { t: "key", c: "CapsLock", d: 1 },
      { t: "key", c: "CapsLock", d: 0 },
    ]);
  });

  it("holds these keys where their release is reported, and Backquote on other keyboards", () => {
    for (const [userAgent, key] of [
      [linux, "ZenkakuHankaku"],
      [windows, "`"],
    ] as const) {
      const { keyboard, sent } = capture(userAgent);
      keyboard.down(press("Backquote", { key }));
      expect(sent).to.deep.equal([{ t: "key", c: "Backquote", d: 1 }]);
      keyboard.up(press("Backquote", { key }));
      expect(sent.slice(1)).to.deep.equal([{ t: "key", c: "Backquote", d: 0 }]);
    }
  });

  it("recognizes only Ctrl+Alt+M as the menu chord", () => {
    expect(isMenuChord({ ...press("KeyM", { ctrlKey: true, altKey: true }), key: "m" })).to.equal(true);
    expect(isMenuChord({ ...press("KeyM", { ctrlKey: true }), key: "m" })).to.equal(false);
    expect(isMenuChord({ ...press("KeyN", { ctrlKey: true, altKey: true }), key: "n" })).to.equal(false);
  });

  it("recognizes the key labelled M in the menu chord, for example on French keyboards", () => {
    expect(isMenuChord({ ...press("Semicolon", { ctrlKey: true, altKey: true }), key: "m" })).to.equal(true);
    expect(isMenuChord({ ...press("Semicolon", { ctrlKey: true, altKey: true }), key: ";" })).to.equal(false);
  });
});
