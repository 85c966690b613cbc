import { expect } from "chai";
import type { KeyboardMap } from "#streamer/display/keyboardMap.ts";
import { keyCodeOf } from "#streamer/input/keyCodes.ts";
import { createKeyText, type KeyText } from "#streamer/input/keyText.ts";

const [shift, lock, altGraph] = [1, 2, 128];
const void_ = 0xff_ffff;

describe("createKeyText", () => {
  let now: number;
  let changes: string[];
  let text: KeyText;

  beforeEach(() => {
    now = 0;
    changes = [];
    const map: KeyboardMap = {
      spareKeys: [200, 201],
      initialSymbols: (keyCode) => (keyCode === keyCodeOf("KeyY") ? [0x79, 0x59, 0, 0] : [0x32, 0x40, 0, 0]),
      setSymbols: (keyCode, symbols, hasCase) =>
        void changes.push(`${keyCode} ${symbols.map((symbol) => symbol.toString(16)).join(" ")} ${hasCase}`),
      setSymbol: (keyCode, symbol) => void changes.push(`${keyCode} ${symbol.toString(16)}`),
      setRightAlt: (isAltGraph) => void changes.push(`AltGr ${isAltGraph}`),
    };
    text = createKeyText({ map, clock: { monotonicMs: () => now } });
  });
  const prepare = (code: string, typed: string, mask = 0) => text.prepare(keyCodeOf(code) ?? 0, typed, mask);

  it("changes nothing for a player whose keys are those of the display", () => {
    prepare("KeyY", "y");
    prepare("KeyY", "Y", shift);
    prepare("KeyY", "Y", lock);
    prepare("Digit2", "@", shift);
    prepare("AltRight", "Alt");
    expect(changes).to.deep.equal([]);
  });

  it("learns a key once, with its capital", () => {
    expect(prepare("KeyY", "z")).to.equal(29);
    prepare("KeyY", "Z", shift);
    prepare("KeyY", "z");
    expect(changes).to.deep.equal(["29 7a 5a 0 0 true"]);
  });

  it("learns the levels of AltGr, and makes the right Alt key AltGr", () => {
    prepare("AltRight", "AltGraph");
    prepare("Digit2", "²", altGraph);
    prepare("Digit2", '"', shift);
    prepare("Digit2", "2");
    expect(changes).to.deep.equal(["AltGr true", "11 32 40 b2 0 false", "11 32 22 b2 0 false"]);
  });

  it("types what the player's Caps Lock makes of a key without letters", () => {
    prepare("Digit2", "É", lock);
    prepare("Digit2", "é");
    prepare("Digit2", "2", shift);
    prepare("Digit2", "É", lock);
    expect(changes.at(-1)).to.equal("11 e9 c9 0 0 true");
  });

  it("types nothing by a dead key, and its composed character by a spare key", () => {
    expect(prepare("Digit2", "Dead")).to.equal(11);
    expect(prepare("KeyY", "ý")).to.equal(201);
    expect(prepare("KeyY", "y")).to.equal(29);
    expect(changes).to.deep.equal([`11 ${void_.toString(16)} 40 0 0 false`, "201 fd"]);
  });

  it("keeps a spare key's character for a second, and then takes the least used", () => {
    expect(text.spareFor("日")).to.equal(201);
    expect(text.spareFor("本")).to.equal(200);
    expect(text.spareFor("語")).to.equal(undefined);
    now = 500;
    expect(text.spareFor("日")).to.equal(201);
    now = 1_200;
    expect(text.spareFor("語")).to.equal(200);
    expect(text.spareFor("日")).to.equal(201);
    expect(changes).to.have.length(3);
  });

  it("is wanted for keys that type text, and for the right Alt key", () => {
    const isWanted = (code: string, typed: string) => text.isWanted(keyCodeOf(code) ?? 0, typed);
    expect(isWanted("KeyA", "q")).to.equal(true);
    expect(isWanted("KeyA", "Dead")).to.equal(true);
    expect(isWanted("KeyA", "Process")).to.equal(false);
    expect(isWanted("Numpad1", "1")).to.equal(false);
    expect(isWanted("AltRight", "Alt")).to.equal(true);
  });
});
