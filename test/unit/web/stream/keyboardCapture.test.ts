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

function capture(userAgent = windows): {
  keyboard: KeyboardCapture;
  sent: StreamInput[];
  /** Returns the messages since the last call: `KeyW+`, `KeyW-`, `locks 1 0`. */
  news: () => string[];
  /** Lets the time pass after which an event is no longer held back. */
  wait: () => void;
} {
  const sent: StreamInput[] = [];
  let waiting: (() => void) | undefined;
  const keyboard = new KeyboardCapture(
    (message) => void sent.push(message),
    userAgent,
    (_ms, callback) => {
      waiting = callback;
      return () => {
        waiting = undefined;
      };
    },
  );
  const news = (): string[] => sent.splice(0).map(short);
  return { keyboard, sent, news, wait: () => waiting?.() };
}

function short(message: StreamInput): string {
  if (message.t === "key") return `${message.c}${message.d === 1 ? "+" : "-"}`;
  return message.t === "locks" ? `locks ${message.caps} ${message.num}` : message.t;
}

const lockedBy = (...locks: string[]): Partial<KeyPress> => ({
  getModifierState: (name) => locks.includes(name),
});
const shifted = { shiftKey: true };

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
    expect(sent).to.deep.equal([
      { t: "key", c: "ControlLeft", d: 1 },
      { t: "key", c: "AltRight", d: 1, k: "AltGraph" },
      { t: "key", c: "KeyQ", d: 1 },
      { t: "key", c: "KeyE", d: 1 },
    ]);
  });

  it("tells what a key types, if it types a character or is dead", () => {
    const { keyboard, sent } = capture(linux);
    for (const [code, key] of [
      ["KeyY", "z"],
      ["Equal", "Dead"],
      ["Enter", "Enter"],
      ["KeyN", "Process"],
      ["KeyI", "𝒾"],
    ] as const)
      keyboard.down(press(code, { key }));
    expect(sent).to.deep.equal([
      { t: "key", c: "KeyY", d: 1, k: "z" },
      { t: "key", c: "Equal", d: 1, k: "Dead" },
      { t: "key", c: "Enter", d: 1 },
      { t: "key", c: "KeyN", d: 1 },
      { t: "key", c: "KeyI", d: 1, k: "𝒾" },
    ]);
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
      expect(sent).to.deep.equal([{ t: "key", c: "Backquote", d: 1, ...(key === "`" ? { k: key } : {}) }]);
      keyboard.up(press("Backquote", { key }));
      expect(sent.slice(1)).to.deep.equal([{ t: "key", c: "Backquote", d: 0 }]);
    }
  });

  it("presses a key that is repeated after the focus came back, because its press went elsewhere", () => {
    const { keyboard, news } = capture();
    keyboard.down(press("KeyW"));
    keyboard.reset();
    news();
    for (let times = 0; times < 3; times += 1) keyboard.down(press("KeyW", { repeat: true }));
    keyboard.up(press("KeyW"));
    expect(news()).to.deep.equal(["KeyW+", "KeyW-"]);
  });

  it("does not press a key that is repeated after the page got its press, such as Enter on a button", () => {
    const { keyboard, news } = capture();
    keyboard.downOnPage(press("Enter"));
    keyboard.down(press("Enter", { repeat: true }));
    keyboard.up(press("Enter"));
    expect(news()).to.deep.equal([]);
    keyboard.down(press("Enter"));
    expect(news()).to.deep.equal(["Enter+"]);
  });

  it("presses the keys again that are still held when the focus is back from the page's controls", () => {
    const { keyboard, news } = capture();
    for (const code of ["KeyW", "KeyA", "ShiftLeft"]) keyboard.down(press(code));
    keyboard.suspend();
    news();
    keyboard.up(press("KeyA"));
    expect([news(), keyboard.heldCodes()]).to.deep.equal([[], []]);
    keyboard.resume();
    expect(news()).to.deep.equal(["KeyW+", "ShiftLeft+"]);
    expect(keyboard.heldCodes()).to.deep.equal(["KeyW", "ShiftLeft"]);
  });

  it("presses modifiers before the key that reports them, if their own press went elsewhere", () => {
    const { keyboard, news } = capture(linux);
    keyboard.down(press("KeyW", { ...shifted, ctrlKey: true, altKey: true }));
    expect(news()).to.deep.equal(["ShiftLeft+", "ControlLeft+", "AltLeft+", "KeyW+"]);
    keyboard.up(press("ShiftRight", { ctrlKey: true, altKey: true }));
    keyboard.up(press("KeyW", { ctrlKey: true, altKey: true }));
    expect(news(), "the side is known only now").to.deep.equal(["KeyW-", "ShiftLeft-"]);
  });

  it("presses the modifier that was used last, and the same for a pointer event", () => {
    const { keyboard, news } = capture(linux);
    keyboard.down(press("ShiftRight", shifted));
    keyboard.reset();
    news();
    keyboard.compare(press("", shifted), false);
    expect(news(), "on the page's controls").to.deep.equal([]);
    keyboard.compare(press("", shifted), true);
    keyboard.compare(press("", shifted), true);
    expect(news()).to.deep.equal(["ShiftRight+"]);
    keyboard.compare(press(""), false);
    expect(news()).to.deep.equal(["ShiftRight-"]);
  });

  it("presses no Meta key that it has not seen, and no Control and Alt for AltGraph", () => {
    const { keyboard, news } = capture();
    keyboard.compare(press("", { metaKey: true }), true);
    keyboard.down(press("AltRight", { key: "AltGraph", ...inAltGraph }));
    keyboard.compare(press("", { ctrlKey: true, altKey: true }), true);
    expect(news()).to.deep.equal(["AltRight+"]);
  });

  it("drops the Control key that Windows makes up for AltGraph, also in its repetitions", () => {
    const { keyboard, news, wait } = capture();
    const control = (timeStamp: number, repeat = false) =>
      press("ControlLeft", { ctrlKey: true, timeStamp, repeat });
    const altGraph = (timeStamp: number, repeat = false) =>
      press("AltRight", { key: "AltGraph", timeStamp, repeat, ...inAltGraph });
    for (const repeat of [false, true]) {
      keyboard.down(control(100, repeat));
      keyboard.down(altGraph(101, repeat));
    }
    keyboard.down(press("KeyQ", { timeStamp: 150, ...inAltGraph }));
    keyboard.up(press("ControlLeft", inAltGraph));
    keyboard.up(press("AltRight", { key: "AltGraph" }));
    wait();
    expect(news()).to.deep.equal(["AltRight+", "KeyQ+", "AltRight-"]);
  });

  it("presses Control on Windows after a moment, or with the next key, or when it is tapped", () => {
    const { keyboard, news, wait } = capture();
    const control = press("ControlLeft", { ctrlKey: true });
    keyboard.down(control);
    expect(news()).to.deep.equal([]);
    wait();
    expect(news()).to.deep.equal(["ControlLeft+"]);
    keyboard.up(press("ControlLeft"));
    keyboard.down(control);
    keyboard.down(press("KeyC", { ctrlKey: true }));
    expect(news()).to.deep.equal(["ControlLeft-", "ControlLeft+", "KeyC+"]);
    keyboard.up(press("ControlLeft"));
    keyboard.down(control);
    keyboard.up(press("ControlLeft"));
    expect(news()).to.deep.equal(["ControlLeft-", "ControlLeft+", "ControlLeft-"]);
    keyboard.down(control);
    keyboard.reset();
    wait();
    expect(news(), "after a release of everything").to.deep.equal([]);
  });

  it("keeps Shift held while Windows reports it as up for a key of the keypad", () => {
    const { keyboard, news, wait } = capture();
    const numLock = lockedBy("NumLock");
    keyboard.down(press("ShiftLeft", { ...shifted, ...numLock }));
    keyboard.up(press("ShiftLeft", { ...numLock, timeStamp: 500 }));
    keyboard.down(press("Numpad4", { key: "ArrowLeft", ...numLock, timeStamp: 500 }));
    keyboard.compare(press("", numLock), true);
    keyboard.up(press("Numpad4", { key: "ArrowLeft", ...numLock }));
    keyboard.down(press("ShiftLeft", { ...shifted, ...numLock }));
    expect(news()).to.deep.equal(["locks 0 1", "ShiftLeft+", "Numpad4+", "Numpad4-"]);
    keyboard.up(press("ShiftLeft", numLock));
    wait();
    expect(news()).to.deep.equal(["ShiftLeft-"]);
  });

  it("taps Print Screen, of which Windows reports only the release", () => {
    const { keyboard, news } = capture();
    keyboard.up(press("PrintScreen"));
    expect(news()).to.deep.equal(["PrintScreen+", "PrintScreen-"]);
    keyboard.down(press("PrintScreen"));
    keyboard.up(press("PrintScreen"));
    expect(news(), "as on Linux").to.deep.equal(["PrintScreen+", "PrintScreen-"]);
  });

  it("taps keys that are pressed with Meta on macOS, which does not report their release", () => {
    const { keyboard, news } = capture(mac);
    const inMeta = { metaKey: true };
    keyboard.down(press("MetaLeft", inMeta));
    keyboard.down(press("KeyC", inMeta));
    keyboard.down(press("ShiftLeft", { ...inMeta, ...shifted }));
    expect(news()).to.deep.equal(["MetaLeft+", "KeyC+", "KeyC-", "ShiftLeft+"]);
  });

  it("keeps other keys held when a Meta key goes up on Linux, which reports their release", () => {
    const { keyboard, news } = capture(linux);
    keyboard.down(press("KeyW"));
    keyboard.down(press("MetaLeft", { metaKey: true }));
    keyboard.up(press("MetaLeft"));
    expect(news()).to.deep.equal(["KeyW+", "MetaLeft+", "MetaLeft-"]);
  });

  it("taps Korean script keys, whose release Windows does not report", () => {
    const { keyboard, news } = capture();
    keyboard.down(press("Lang1", { key: "HangulMode" }));
    keyboard.down(press("Lang2", { key: "HanjaMode" }));
    expect(news()).to.deep.equal(["Lang1+", "Lang1-", "Lang2+", "Lang2-"]);
  });

  it("sends the Windows key by its name, also from Firefox before release 118", () => {
    const { keyboard, news } = capture(linux);
    keyboard.down(press("OSLeft", { key: "OS" }));
    keyboard.up(press("OSLeft", { key: "OS" }));
    expect(news()).to.deep.equal(["MetaLeft+", "MetaLeft-"]);
  });

  it("sends no release of a key that the game does not have as held", () => {
    const { keyboard, news } = capture();
    keyboard.up(press("KeyW"));
    expect(news()).to.deep.equal([]);
  });

  it("sets the locks before the first press they matter for, and when they change", () => {
    const { keyboard, news } = capture(linux);
    const locked = lockedBy("CapsLock", "NumLock");
    keyboard.down(press("KeyA", locked));
    keyboard.down(press("KeyB", locked));
    keyboard.compare(press("", lockedBy("NumLock")), true);
    expect(news()).to.deep.equal(["locks 1 1", "KeyA+", "KeyB+", "locks 0 1"]);
  });

  it("sets the locks again after a lock key, and after a new connection, whose display may differ", () => {
    const { keyboard, news } = capture(linux);
    keyboard.down(press("CapsLock", lockedBy("CapsLock")));
    keyboard.up(press("CapsLock", lockedBy("CapsLock")));
    keyboard.down(press("KeyA", lockedBy("CapsLock")));
    expect(news()).to.deep.equal(["CapsLock+", "CapsLock-", "locks 1 0", "KeyA+"]);
    keyboard.up(press("KeyA"));
    keyboard.pressAgain();
    keyboard.down(press("KeyA", lockedBy("CapsLock")));
    expect(news()).to.deep.equal(["KeyA-", "locks 1 0", "KeyA+"]);
  });

  it("switches Num Lock on for the keypad of a Mac, which has no such lock", () => {
    const { keyboard, news } = capture(mac);
    keyboard.down(press("KeyA"));
    keyboard.down(press("Numpad7", { key: "7" }));
    keyboard.down(press("KeyB"));
    expect(news()).to.deep.equal(["KeyA+", "locks 0 1", "Numpad7+", "KeyB+"]);
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
