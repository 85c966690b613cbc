import { expect } from "chai";
import { PadInput, type StreamInput } from "#contracts/stream.ts";
import { GamepadCapture, padMessage, type PadSample } from "#web/stream/gamepadCapture.ts";

function aPad({
  index = 0,
  mapping = "standard",
  axes = [0, 0, 0, 0],
  pressed = [] as number[],
} = {}): PadSample {
  return {
    index,
    mapping,
    axes,
    buttons: Array.from({ length: 17 }, (_button, place) => ({
      pressed: pressed.includes(place),
      value: pressed.includes(place) ? 1 : 0,
    })),
  };
}

function capture(): { gamepad: GamepadCapture; sent: StreamInput[] } {
  const sent: StreamInput[] = [];
  return { gamepad: new GamepadCapture((message) => void sent.push(message)), sent };
}

describe("padMessage", () => {
  it("leaves the triggers out of the button bits and sends their pressure", () => {
    const message = padMessage(aPad({ pressed: [0, 7, 8, 16], axes: [1, -1, 0.01, 0.5] }));
    expect(message).to.deep.equal({
      t: "pad",
      s: [32_767, -32_767, 0, 16_384],
      l: 0,
      r: 255,
      b: 1 | (1 << 6) | (1 << 14),
    });
    expect(PadInput.safeParse(message).success).to.equal(true);
  });

  it("accepts a gamepad with fewer axes and buttons than the standard layout", () => {
    expect(padMessage({ axes: [Number.NaN], buttons: [] })).to.deep.equal({
      t: "pad",
      s: [0, 0, 0, 0],
      l: 0,
      r: 0,
      b: 0,
    });
  });
});

describe("GamepadCapture", () => {
  it("sends nothing for a gamepad that nobody moves", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([null, aPad({ index: 1 })]);
    gamepad.sample([null, aPad({ index: 1 })]);
    expect(sent).to.deep.equal([]);
  });

  it("sends only the changes of the gamepad that moved first", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad(), aPad({ index: 1 })]);
    gamepad.sample([aPad(), aPad({ index: 1, pressed: [0] })]);
    gamepad.sample([aPad({ pressed: [1] }), aPad({ index: 1, pressed: [0] })]);
    expect(sent.map((message) => message.t === "pad" && message.b)).to.deep.equal([1]);
  });

  for (const [what, place] of [
    ["button", 0],
    ["trigger", 7],
  ] as const) {
    it(`sends a ${what} that is pressed from the start, because browsers hide gamepads until the first press`, () => {
      const { gamepad, sent } = capture();
      gamepad.sample([null]);
      gamepad.sample([aPad({ index: 1 }), aPad({ pressed: [place] })]);
      gamepad.sample([aPad({ index: 1 }), aPad()]);
      expect(sent).to.deep.equal([padMessage(aPad({ pressed: [place] })), padMessage(aPad())]);
    });
  }

  it("does not select a gamepad with a drifting stick while another one is in use", () => {
    const { gamepad, sent } = capture();
    const worn = aPad({ axes: [0.1, 0, 0, 0] });
    gamepad.sample([worn, null]);
    gamepad.sample([worn, aPad({ index: 1, pressed: [0] })]);
    expect(sent).to.deep.equal([padMessage(aPad({ pressed: [0] }))]);
  });

  it("ignores devices without the standard mapping, whose buttons and axes are unknown", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad({ mapping: "" })]);
    gamepad.sample([aPad({ mapping: "", axes: [1, 0, 0, 0], pressed: [0] })]);
    expect(sent).to.deep.equal([]);
  });

  it("resets an unplugged gamepad without releasing keyboard or mouse", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad()]);
    gamepad.sample([aPad({ axes: [1, 0, 0, 0], pressed: [0, 7] })]);
    gamepad.sample([null]);
    gamepad.sample([null]);
    expect(sent.slice(1)).to.deep.equal([{ t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 0 }]);
  });

  it("sends nothing when an idle gamepad turns off, and selects the next one that moves", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad({ pressed: [0] })]);
    gamepad.sample([aPad()]);
    sent.length = 0;
    gamepad.sample([null]);
    gamepad.sample([null, aPad({ index: 1, pressed: [0] })]);
    expect(sent).to.deep.equal([padMessage(aPad({ pressed: [0] }))]);
  });

  it("sends the state again after a reset", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad()]);
    gamepad.sample([aPad({ pressed: [0] })]);
    gamepad.reset();
    gamepad.sample([aPad({ pressed: [0] })]);
    expect(sent).to.have.length(2);
  });
});
