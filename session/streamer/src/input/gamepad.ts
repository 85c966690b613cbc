import { createServer, type Socket } from "node:net";
import { removeStale } from "../processes/staleSocket.ts";
import type { Logger } from "#runtime/logger.ts";
import { encodeChanges, restingGamepad, type GamepadState } from "./gamepadState.ts";

/**
 * Bounds the memory that a game takes which opens the pad and never reads it: the sockets' high-water mark,
 * at which they promise a drain event.
 */
const maxUnreadBytes = 16_384;
const maxReaders = 16;
/** Bounds the log: a game may open and close the pad without end. */
const maxLoggedOpenings = 16;

/** The gamepad that a game sees through the shim in its container. */
export interface Gamepad {
  set(state: GamepadState): void;
  /** Whether a game has it open. */
  isOpen(): boolean;
  close(): void;
}

export interface GamepadOptions {
  socketPath: string;
  log: Logger;
  /** Wall clock, in milliseconds. */
  wallMs: () => number;
}

/**
 * Listens where the shim connects. Each reader gets the changes from the last state that it was sent to the
 * present one.
 */
export async function openGamepad({ socketPath, log, wallMs }: GamepadOptions): Promise<Gamepad> {
  const readers = new Map<Socket, GamepadState>(); // The state that each was sent last.
  let present = restingGamepad;
  let openings = 0;

  const sendChanges = (socket: Socket) => {
    // It gets the changes on its drain event. A length of our own choice below the mark would promise none.
    if (socket.writableNeedDrain) return;
    const changes = encodeChanges(readers.get(socket) ?? restingGamepad, present, wallMs());
    readers.set(socket, present);
    if (changes.length > 0) socket.write(changes);
  };
  const server = createServer({ highWaterMark: maxUnreadBytes }, (socket) => {
    if (openings++ < maxLoggedOpenings) log.info({ openings }, "The game opened the gamepad.");
    readers.set(socket, restingGamepad);
    socket.on("drain", () => sendChanges(socket));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => readers.delete(socket));
    socket.on("data", () => socket.destroy()); // A pad is only read; what writes to it is not the shim.
    sendChanges(socket);
  });
  server.maxConnections = maxReaders;
  removeStale(socketPath, log);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
  // The listener fails, for example, when no descriptor is left for one more reader. Readers that are
  // connected go on.
  server.on("error", (error) => log.warn({ err: error }, "The gamepad could not be opened for a game."));
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
