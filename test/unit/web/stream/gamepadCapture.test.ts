import { expect } from "chai";
import { PadInput, type StreamInput } from "#contracts/stream.ts";
import { GamepadCapture, padMessage, type UnknownGamepad } from "#web/stream/gamepadCapture.ts";
import { PadReader, type PadSample } from "#web/stream/gamepadLayouts.ts";

function aPad({
  index = 0,
  id = "Xbox 360 Controller (STANDARD GAMEPAD Vendor: 045e Product: 028e)",
  mapping = "standard",
  axes = [0, 0, 0, 0],
  pressed = [] as number[],
  buttons = 17,
} = {}): PadSample {
  return {
    index,
    id,
    mapping,
    axes,
    buttons: Array.from({ length: buttons }, (_button, place) => ({
      pressed: pressed.includes(place),
      value: pressed.includes(place) ? 1 : 0,
    })),
  };
}

function capture(): { gamepad: GamepadCapture; sent: StreamInput[]; unknown: UnknownGamepad[] } {
  const sent: StreamInput[] = [];
  const unknown: UnknownGamepad[] = [];
  const gamepad = new GamepadCapture(
    (message) => void sent.push(message),
    (device) => void unknown.push(device),
  );
  return { gamepad, sent, unknown };
}

/** Returns the pads of the messages, in short: `0+` is a state of the first, `0-` that it was unplugged. */
const short = (sent: StreamInput[]) =>
  sent.map((message) =>
    message.t === "pad" ? `${message.i}+` : message.t === "unplug" ? `${message.i}-` : message.t,
  );

describe("padMessage", () => {
  it("leaves the triggers out of the button bits and sends their pressure", () => {
    const message = padMessage(aPad({ pressed: [0, 7, 8, 16], axes: [1, -1, 0.01, 0.5] }), 2);
    expect(message).to.deep.equal({
      t: "pad",
      i: 2,
      s: [32_767, -32_767, 0, 16_384],
      l: 0,
      r: 255,
      b: 1 | (1 << 6) | (1 << 14),
    });
    expect(PadInput.safeParse(message).success).to.equal(true);
  });

  it("accepts a gamepad with fewer axes and buttons than the standard layout", () => {
    expect(padMessage({ axes: [Number.NaN], buttons: [] }, 0)).to.deep.equal({
      t: "pad",
      i: 0,
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

  it("sends the changes of each gamepad from its first use", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad(), aPad({ index: 1 })]);
    gamepad.sample([aPad(), aPad({ index: 1, pressed: [0] })]);
    gamepad.sample([aPad({ pressed: [1] }), aPad({ index: 1, pressed: [0] })]);
    gamepad.sample([aPad(), aPad({ index: 1, pressed: [0] })]);
    expect(sent).to.deep.equal([
      padMessage(aPad({ pressed: [0] }), 1),
      padMessage(aPad({ pressed: [1] }), 0),
      padMessage(aPad(), 0),
    ]);
  });

  for (const [what, place] of [
    ["button", 0],
    ["trigger", 7],
  ] as const) {
    it(`sends a ${what} that is pressed from the start, because browsers hide gamepads until the first press`, () => {
      const { gamepad, sent } = capture();
      gamepad.sample([null]);
      gamepad.sample([aPad({ pressed: [place] }), aPad({ index: 1 })]);
      gamepad.sample([aPad(), aPad({ index: 1 })]);
      expect(sent).to.deep.equal([padMessage(aPad({ pressed: [place] }), 0), padMessage(aPad(), 0)]);
    });
  }

  it("does not use a gamepad with a worn stick, but one whose stick is pushed", () => {
    const { gamepad, sent } = capture();
    for (const x of [0.3, 0.35, 0.28, 0.3]) gamepad.sample([aPad({ axes: [x, 0, 0, 0] })]);
    expect(sent).to.deep.equal([]);
    gamepad.sample([aPad({ axes: [1, 0, 0, 0] })]);
    expect(short(sent)).to.deep.equal(["0+"]);
  });

  it("unplugs a gamepad without releasing keyboard or mouse, and forgets an idle one", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad(), aPad({ index: 1 })]);
    gamepad.sample([aPad({ axes: [1, 0, 0, 0], pressed: [0, 7] }), aPad({ index: 1 })]);
    gamepad.sample([null, null]);
    gamepad.sample([null, null]);
    expect(sent.slice(1)).to.deep.equal([
      { t: "pad", i: 0, s: [0, 0, 0, 0], l: 0, r: 0, b: 0 },
      { t: "unplug", i: 0 },
    ]);
  });

  it("takes a place of another gamepad only after that is unplugged, and sends at most four", () => {
    const { gamepad, sent } = capture();
    const used = (index: number) => aPad({ index, pressed: [0] });
    gamepad.sample([null, null, null, null, used(4)]);
    expect(gamepad.indexOf(0)).to.equal(4);
    gamepad.sample([used(0), used(1), used(2), used(3), used(4)]);
    expect(short(sent)).to.deep.equal(["0+", "1+", "2+", "3+"]);
    expect([0, 1, 2, 3].map((slot) => gamepad.indexOf(slot))).to.deep.equal([4, 0, 1, 2]);
    gamepad.sample([used(0), used(1), used(2), used(3), null]);
    expect(short(sent.slice(4))).to.deep.equal(["0+", "0-", "0+"]);
  });

  it("replaces a gamepad by another one that takes its index", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad({ pressed: [0] })]);
    gamepad.sample([aPad({ id: "Another (STANDARD GAMEPAD)", pressed: [1] })]);
    expect(short(sent)).to.deep.equal(["0+", "0+", "0-", "0+"]);
  });

  it("sends the states again after a reset", () => {
    const { gamepad, sent } = capture();
    gamepad.sample([aPad()]);
    gamepad.sample([aPad({ pressed: [0] })]);
    gamepad.reset();
    gamepad.sample([aPad({ pressed: [0] })]);
    expect(sent).to.have.length(2);
  });

  it("guesses an unknown layout, and reports the device once when it is used", () => {
    const { gamepad, sent, unknown } = capture();
    const stranger = { id: "0079-0011-USB Gamepad", mapping: "", axes: [0, 0], buttons: 10 };
    gamepad.sample([aPad(stranger)]);
    expect(unknown).to.deep.equal([]);
    gamepad.sample([aPad({ ...stranger, pressed: [2] })]);
    gamepad.sample([aPad(stranger)]);
    expect(unknown).to.deep.equal([{ name: "USB Gamepad", isUsed: true }]);
    expect(sent[0]).to.deep.equal(padMessage(aPad({ pressed: [0] }), 0));
  });

  it("reports a device that is no gamepad, and sends nothing of it", () => {
    const { gamepad, sent, unknown } = capture();
    const wheel = {
      id: "G29 Racing Wheel (Vendor: 046d Product: c24f)",
      mapping: "",
      axes: [0, 0, 0, 0],
      buttons: 25,
    };
    gamepad.sample([aPad(wheel)]);
    gamepad.sample([aPad({ ...wheel, pressed: [3] })]);
    gamepad.sample([aPad({ ...wheel, pressed: [4] })]);
    expect(unknown).to.deep.equal([{ name: "G29 Racing Wheel", isUsed: false }]);
    expect(sent).to.deep.equal([]);
  });
});

describe("PadReader", () => {
  /** Returns the places in the standard mapping that are pressed. */
  const pressedOf = (pad: Parameters<typeof aPad>[0]) =>
    (new PadReader().read(aPad({ mapping: "", ...pad }))?.buttons ?? []).flatMap(({ pressed }, place) =>
      pressed ? [place] : [],
    );

  it("reads an Xbox pad in Linux' order: buttons, triggers and directions", () => {
    const pad = {
      id: "045e-028e-Microsoft X-Box 360 pad",
      buttons: 11,
      pressed: [0, 2, 6, 8, 10],
      axes: [0.1, 0.2, 1, 0.3, 0.4, -1, -1, 1],
    };
    expect(pressedOf(pad)).to.deep.equal([0, 2, 6, 8, 11, 13, 14, 16]);
    expect(new PadReader().read(aPad({ mapping: "", ...pad }))?.axes).to.deep.equal([0.1, 0.2, 0.3, 0.4]);
  });

  it("reads pads of other makers in Linux' order", () => {
    const playStation = { id: "054c-0ce6-Wireless Controller", buttons: 13, axes: [0, 0, 0, 0, 0, 0, 0, 0] };
    expect(pressedOf({ ...playStation, pressed: [0, 1, 2, 3, 10] })).to.deep.equal([0, 1, 2, 3, 16]);
    expect(pressedOf({ ...playStation, pressed: [2] })).to.deep.equal([3]);
    const nintendo = { id: "057e-2009-Pro Controller", buttons: 14, axes: [0, 0, 0, 0, 0, 0] };
    expect(pressedOf({ ...nintendo, pressed: [0, 3, 7, 11] })).to.deep.equal([0, 2, 6, 16]);
  });

  it("reads DualSense's order of Windows and macOS with its single axis of directions", () => {
    const pad = { id: "Wireless Controller (Vendor: 054c Product: 0ce6)", buttons: 14 };
    const axes = (hat: number) => [0, 0, 0, -1, -1, 0, 0, 0, 0, hat];
    expect(pressedOf({ ...pad, pressed: [1], axes: axes(1.28) })).to.deep.equal([0]);
    expect(pressedOf({ ...pad, axes: axes(-1) })).to.deep.equal([12]);
    expect(pressedOf({ ...pad, axes: axes(-5 / 7) })).to.deep.equal([12, 15]);
    expect(pressedOf({ ...pad, axes: axes(3 / 7) })).to.deep.equal([13, 14]);
    expect(pressedOf({ ...pad, axes: axes(1) })).to.deep.equal([12, 14]);
  });

  it("takes a trigger that has never moved as released, not as half pressed", () => {
    const reader = new PadReader();
    const at = (value: number) =>
      reader.read(aPad({ mapping: "", id: "Xbox", buttons: 11, axes: [0, 0, value, 0, 0, 0, 0, 0] }))
        ?.buttons[6]?.value;
    expect([at(0), at(-1), at(0), at(1)]).to.deep.equal([0, 0, 0.5, 1]);
  });

  it("reads other pads as for DirectInput", () => {
    const pad = { id: "Logitech Dual Action (Vendor: 046d Product: c216)", buttons: 12 };
    expect(pressedOf({ ...pad, pressed: [1, 6, 9], axes: [0, 0, 0, 0, 0, -1] })).to.deep.equal([0, 6, 9, 12]);
  });

  it("returns undefined for devices that are no gamepads", () => {
    for (const device of [
      { id: "Saitek X52 Flight Control System", buttons: 39 },
      { id: "Pedals", buttons: 0 },
      { id: "Knob", axes: [0], buttons: 5 },
    ])
      expect(new PadReader().read(aPad({ mapping: "", ...device })), device.id).to.equal(undefined);
  });
});
