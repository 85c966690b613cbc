import { expect } from "chai";
import { gamepadButtons } from "#contracts/stream.ts";
import {
  encodeChanges,
  encodeJoystick,
  encodeState,
  readGamepad,
  restingGamepad,
} from "#streamer/input/gamepad.ts";

const resting = { t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 0 } as const;
const pressed = (name: (typeof gamepadButtons)[number]) => 1 << gamepadButtons.indexOf(name);

/** Type, code and value of each `struct input_event`. */
function events(buffer: Buffer): number[][] {
  return Array.from({ length: buffer.length / 24 }, (_, index) => index * 24).map((at) => [
    buffer.readUInt16LE(at + 16),
    buffer.readUInt16LE(at + 18),
    buffer.readInt32LE(at + 20),
  ]);
}

describe("encodeChanges", () => {
  const changes = (input: Parameters<typeof readGamepad>[0]) =>
    events(encodeChanges(restingGamepad, readGamepad(input), 1_500));

  it("encodes no events for a pad that stays at rest", () => {
    expect(changes({ ...resting, s: [0, 0, 0, 0] })).to.deep.equal([]);
  });

  it("encodes sticks and triggers as the axes of an Xbox pad", () => {
    expect(changes({ ...resting, s: [1, -2, 3, -4], l: 5, r: 6 })).to.deep.equal([
      [3, 0, 1],
      [3, 1, -2],
      [3, 3, 3],
      [3, 4, -4],
      [3, 2, 5],
      [3, 5, 6],
      [0, 0, 0],
    ]);
  });

  it("encodes buttons as the kernel's codes for their positions", () => {
    expect(
      changes({ ...resting, s: [0, 0, 0, 0], b: pressed("south") | pressed("west") | pressed("guide") }),
    ).to.deep.equal([
      [1, 0x130, 1],
      [1, 0x133, 1],
      [1, 0x13c, 1],
      [0, 0, 0],
    ]);
  });

  it("encodes the four directions as a hat", () => {
    expect(changes({ ...resting, s: [0, 0, 0, 0], b: pressed("up") | pressed("right") })).to.deep.equal([
      [3, 16, 1],
      [3, 17, -1],
      [0, 0, 0],
    ]);
  });

  it("encodes the return to rest, with the time in every record", () => {
    const back = encodeChanges(
      readGamepad({ ...resting, s: [9, 0, 0, 0], b: pressed("east") }),
      restingGamepad,
      1_500,
    );
    expect(events(back)).to.deep.equal([
      [3, 0, 0],
      [1, 0x131, 0],
      [0, 0, 0],
    ]);
    expect([back.readBigInt64LE(0), back.readBigInt64LE(8)]).to.deep.equal([1n, 500_000n]);
  });
});

describe("encodeJoystick", () => {
  /** Value, type and number of each `struct js_event`. */
  const joystickEvents = (buffer: Buffer) =>
    Array.from({ length: buffer.length / 8 }, (_, index) => index * 8).map((at) => [
      buffer.readInt16LE(at + 4),
      buffer.readUInt8(at + 6),
      buffer.readUInt8(at + 7),
    ]);

  it("gives a program that opens the pad the state of all buttons and axes, with triggers at their minimum", () => {
    const initial = joystickEvents(
      encodeJoystick(undefined, readGamepad({ ...resting, s: [0, 0, 0, 0], b: pressed("east") }), 1_500),
    );
    expect(initial).to.have.lengthOf(11 + 8);
    expect(initial[1]).to.deep.equal([1, 0x81, 1]);
    expect(initial.slice(11)).to.deep.equal(
      [0, 0, -32_767, 0, 0, -32_767, 0, 0].map((value, axis) => [value, 0x82, axis]),
    );
  });

  it("encodes changes with the kernel's numbers and ranges", () => {
    const state = readGamepad({
      ...resting,
      s: [32_767, -32_767, 100, 0],
      l: 255,
      b: pressed("start") | pressed("left"),
    });
    expect(joystickEvents(encodeJoystick(restingGamepad, state, 1_500))).to.deep.equal([
      [1, 1, 7],
      [32_767, 2, 0],
      [-32_767, 2, 1],
      [32_767, 2, 2],
      [-32_767, 2, 6],
    ]);
  });
});

describe("encodeState", () => {
  it("returns axes and buttons in the order of the shim", () => {
    const file = encodeState(
      readGamepad({ ...resting, s: [1, 2, 3, 4], l: 5, r: 6, b: pressed("north") | pressed("down") }),
    );
    expect(Array.from({ length: 8 }, (_, axis) => file.readInt32LE(4 * axis))).to.deep.equal([
      1, 2, 5, 3, 4, 6, 0, 1,
    ]);
    expect(file.readUInt32LE(32)).to.equal(1 << 3);
  });
});
