import type { Clock } from "#runtime/scheduling/clock.ts";
import { createServer, type Socket } from "node:net";
import { removeStale } from "../processes.ts";
import type { Logger } from "#runtime/logger.ts";
import { gamepadButtons, type StreamInput } from "#contracts/stream.ts";

type PadInput = Extract<StreamInput, { t: "pad" }>;

// Kernel input event numbers, as used by a wired Xbox 360 pad.
const keyEvent = 1;
const absoluteEvent = 3;
const eventBytes = 24;
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

/**
 * Bounds the memory of a game that opens the pad and never reads it. It is the sockets' high-water mark,
 * because Node promises a drain event only there.
 */
const maxUnreadBytes = 16_384;
const maxReaders = 16;
/** Bounds the log: a game may open and close the pad without limit. */
const maxLoggedOpenings = 16;

/** The gamepad that a game sees through the shim in its container. */
export interface Gamepad {
  set(state: GamepadState): void;
  /** Returns whether a game has the pad open. */
  isOpen(): boolean;
  close(): void;
}

interface GamepadOptions {
  socketPath: string;
  logger: Logger;
  clock: Pick<Clock, "now">;
}

/**
 * Listens on the shim's socket. Each reader gets the changes between the state it received last and the
 * current one.
 */
export async function openGamepad({ socketPath, logger, clock }: GamepadOptions): Promise<Gamepad> {
  const readers = new Map<Socket, GamepadState>(); // The state that each reader received last.
  let present = restingGamepad;
  let openings = 0;

  const sendChanges = (socket: Socket) => {
    // The changes follow on the drain event. A custom threshold below the mark would not guarantee that
    // event.
    if (socket.writableNeedDrain) return;
    const changes = encodeChanges(readers.get(socket) ?? restingGamepad, present, clock.now().getTime());
    readers.set(socket, present);
    if (changes.length > 0) socket.write(changes);
  };
  const server = createServer({ highWaterMark: maxUnreadBytes }, (socket) => {
    if (openings++ < maxLoggedOpenings) logger.info({ openings }, "The game opened the gamepad.");
    readers.set(socket, restingGamepad);
    socket.on("drain", () => sendChanges(socket));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => readers.delete(socket));
    socket.on("data", () => socket.destroy()); // The shim only reads.
    sendChanges(socket);
  });
  server.maxConnections = maxReaders;
  removeStale(socketPath, logger);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
  // The listener fails, for example, when no file descriptor is left for another reader. Connected readers
  // continue.
  server.on("error", (error) => logger.warn({ err: error }, "The gamepad could not accept a reader."));
  return {
    set(state) {
      present = state;
      for (const socket of readers.keys()) sendChanges(socket);
    },
    isOpen: () => readers.size > 0,
    close() {
      for (const socket of readers.keys()) socket.destroy();
      server.close();
    },
  };
}
