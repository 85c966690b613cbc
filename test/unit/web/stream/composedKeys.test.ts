import { expect } from "chai";
import { ComposedKeys } from "#web/stream/composedKeys.ts";
import type { KeyPress } from "#web/stream/keyboardCapture.ts";

const press = (code: string, key: string): KeyPress => ({
  code,
  key,
  repeat: false,
  ctrlKey: false,
  altKey: false,
  shiftKey: false,
  metaKey: false,
  getModifierState: () => false,
});

describe("ComposedKeys", () => {
  let pressed: string[];
  let keys: ComposedKeys;

  beforeEach(() => {
    pressed = [];
    keys = new ComposedKeys({
      down: ({ code, key }) => void pressed.push(`${code} ${key}`),
      type: (text) => void pressed.push(`text ${text}`),
    });
  });

  it("presses keys at once, except the one after a dead key, which types what was composed", () => {
    expect(keys.down(press("KeyE", "e"))).to.equal(false);
    expect(keys.down(press("Equal", "Dead"))).to.equal(false);
    expect(pressed).to.deep.equal(["KeyE e", "Equal Dead"]);
    expect(keys.down(press("KeyE", "e"))).to.equal(true);
    expect(pressed).to.have.length(2);
    keys.typed("é");
    expect(keys.down(press("KeyE", "e"))).to.equal(false);
    expect(pressed.slice(2)).to.deep.equal(["KeyE é", "KeyE e"]);
  });

  it("keeps the dead key while modifiers are pressed", () => {
    keys.down(press("Equal", "Dead"));
    keys.down(press("ShiftLeft", "Shift"));
    expect(keys.down(press("KeyE", "E"))).to.equal(true);
    keys.typed("É");
    expect(pressed.at(-1)).to.equal("KeyE É");
  });

  it("types both characters if they compose nothing", () => {
    keys.down(press("Equal", "Dead"));
    keys.down(press("KeyX", "x"));
    for (const key of ["´", "x"]) keys.typed(key);
    expect(pressed.slice(1)).to.deep.equal(["KeyX ´", "text x"]);
  });

  it("presses the key before what follows if the browser reports no character", () => {
    keys.down(press("Equal", "Dead"));
    keys.down(press("KeyE", "e"));
    keys.settle();
    keys.settle();
    expect(pressed.slice(1)).to.deep.equal(["KeyE e"]);
  });

  it("forgets a dead key and a waiting one", () => {
    keys.down(press("Equal", "Dead"));
    keys.down(press("KeyE", "e"));
    keys.reset();
    keys.typed("é");
    keys.down(press("KeyE", "e"));
    expect(pressed.slice(1)).to.deep.equal(["KeyE e"]);
  });
});
