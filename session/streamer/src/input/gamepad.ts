import { gamepadButtons, stickScale, triggerScale, type StreamInput } from "#contracts/stream.ts";

type PadInput = Extract<StreamInput, { t: "pad" }>;

// Kernel input event numbers, as used by a wired Xbox 360 pad.
const keyEvent = 1;
const absoluteEvent = 3;
/** Size of the kernel's `struct input_event`. */
export const eventBytes = 24;
const absolute = {
  leftX: 0,
  leftY: 1,
  leftTrigger: 2,
  rightX: 3,
  rightY: 4,
  rightTrigger: 5,
  hatX: 16,
  hatY: 17,
};
const buttonCodes: Partial<Record<(typeof gamepadButtons)[number], number>> = {
  south: 0x130,
  east: 0x131,
  west: 0x133,
  north: 0x134,
  leftShoulder: 0x136,
  rightShoulder: 0x137,
  select: 0x13a,
  start: 0x13b,
  guide: 0x13c,
  leftStick: 0x13d,
  rightStick: 0x13e,
};

/** A pad's axes and buttons: kernel event type and code → value. Absent entries are at rest. */
export type GamepadState = ReadonlyMap<string, number>;

/** Everything at rest, which is what a game assumes when it opens the pad. */
export const restingGamepad: GamepadState = new Map();

/** Returns the pad state of a message. The four directions map to the hat axes. */
export function readGamepad(input: PadInput): GamepadState {
  const isPressed = (name: (typeof gamepadButtons)[number]) => (input.b >> gamepadButtons.indexOf(name)) & 1;
  const [leftX, leftY, rightX, rightY] = input.s;
  const axes: [number, number][] = [
    [absolute.leftX, leftX],
    [absolute.leftY, leftY],
    [absolute.rightX, rightX],
    [absolute.rightY, rightY],
    [absolute.leftTrigger, input.l],
    [absolute.rightTrigger, input.r],
    [absolute.hatX, isPressed("right") - isPressed("left")],
    [absolute.hatY, isPressed("down") - isPressed("up")],
  ];
  const state = new Map<string, number>(axes.map(([code, value]) => [`${absoluteEvent} ${code}`, value]));
  for (const name of gamepadButtons) {
    const code = buttonCodes[name];
    if (code !== undefined) state.set(`${keyEvent} ${code}`, isPressed(name));
  }
  return state;
}

/** Returns the kernel's records (`struct input_event`) for a state change; empty when nothing changed. */
export function encodeChanges(from: GamepadState, to: GamepadState, nowMs: number): Buffer {
  const names = new Set([...from.keys(), ...to.keys()]);
  const changed = [...names].filter((name) => (from.get(name) ?? 0) !== (to.get(name) ?? 0));
  if (changed.length === 0) return Buffer.alloc(0);
  const records = changed.map((name) => {
    const [type, code] = name.split(" ").map(Number);
    return encodeEvent(nowMs, type ?? 0, code ?? 0, to.get(name) ?? 0);
  });
  // The final SYN_REPORT closes the group of changes.
  return Buffer.concat([...records, encodeEvent(nowMs, 0, 0, 0)]);
}

function encodeEvent(nowMs: number, type: number, code: number, value: number): Buffer {
  const record = Buffer.alloc(eventBytes);
  record.writeBigInt64LE(BigInt(Math.floor(nowMs / 1000)), 0);
  record.writeBigInt64LE(BigInt(Math.floor(nowMs % 1000) * 1000), 8);
  record.writeUInt16LE(type, 16);
  record.writeUInt16LE(code, 18);
  record.writeInt32LE(value, 20);
  return record;
}

/** Axes and buttons in the order of the kernel's joystick interface. */
export const axisCodes: readonly number[] = Object.values(absolute).toSorted((a, b) => a - b);
export const keyCodes: readonly number[] = Object.values(buttonCodes).toSorted((a, b) => a - b);

const joystickEventBytes = 8;
const joystickButton = 1;
const joystickAxis = 2;
const joystickInitial = 0x80;
/** Stick positions that the joystick interface reports as the middle. */
const flat = 128;

/**
 * Returns the joystick interface's records (`struct js_event`) for a state change. `from` is undefined for a
 * program that has just opened the pad, which gets the whole state.
 */
export function encodeJoystick(from: GamepadState | undefined, to: GamepadState, nowMs: number): Buffer {
  const entries: [type: number, number: number, value: number, before: number | undefined][] = [
    ...keyCodes.map((code, place): (typeof entries)[number] => {
      const name = `${keyEvent} ${code}`;
      return [joystickButton, place, to.get(name) ?? 0, from && (from.get(name) ?? 0)];
    }),
    ...axisCodes.map((code, place): (typeof entries)[number] => {
      const name = `${absoluteEvent} ${code}`;
      return [
        joystickAxis,
        place,
        scaleAxis(code, to.get(name) ?? 0),
        from && scaleAxis(code, from.get(name) ?? 0),
      ];
    }),
  ];
  const records = entries
    .filter(([, , value, before]) => value !== before)
    .map(([type, place, value]) => {
      const record = Buffer.alloc(joystickEventBytes);
      record.writeUInt32LE(Math.floor(nowMs) % 2 ** 32, 0);
      record.writeInt16LE(value, 4);
      record.writeUInt8(from === undefined ? type | joystickInitial : type, 6);
      record.writeUInt8(place, 7);
      return record;
    });
  return Buffer.concat(records);
}

/** Returns an axis as the joystick interface reports it, from -32767 to 32767. */
function scaleAxis(code: number, value: number): number {
  if (code === absolute.hatX || code === absolute.hatY) return value * stickScale;
  if (code === absolute.leftTrigger || code === absolute.rightTrigger)
    return Math.round((value / triggerScale) * 2 * stickScale) - stickScale;
  if (Math.abs(value) <= flat) return 0;
  const scaled = ((Math.abs(value) - flat) * stickScale) / (stickScale - 2 * flat);
  return Math.sign(value) * Math.min(stickScale, Math.trunc(scaled));
}

/**
 * Returns a state as the file that programs' requests for the current state are answered from (`struct
 * padState` of the shim).
 */
export function encodeState(state: GamepadState): Buffer {
  const file = Buffer.alloc(4 * (axisCodes.length + 1));
  for (const [place, code] of axisCodes.entries())
    file.writeInt32LE(state.get(`${absoluteEvent} ${code}`) ?? 0, 4 * place);
  const bits = keyCodes.reduce(
    (sum, code, place) => sum | ((state.get(`${keyEvent} ${code}`) ?? 0) << place),
    0,
  );
  file.writeUInt32LE(bits, 4 * axisCodes.length);
  return file;
}
