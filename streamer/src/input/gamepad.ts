import { createServer, type Socket } from "node:net";
import { removeStale } from "../processes/staleSocket.ts";
import type { Logger } from "#runtime/logger.ts";
import { encodeChanges, restingGamepad, type GamepadState } from "./gamepadState.ts";

/** A game that opens the pad and never reads it must not fill memory. */
const maxUnreadBytes = 16_384;
const maxReaders = 16;
/** Openings that are logged; a game may open and close the pad without end. */
const maxLogged = 16;

/** The pad that a game sees through the shim in its container. */
export interface Gamepad {
  set(state: GamepadState): void;
  /** Whether a game has it open. */
  isOpen(): boolean;
  close(): void;
}

export interface GamepadOptions {
  socketPath: string;
  log: Logger;
  now: () => number;
}

/** Listens where the shim connects; each reader is led from what it was told last to the present state. */
export async function openGamepad({ socketPath, log, now }: GamepadOptions): Promise<Gamepad> {
  const readers = new Map<Socket, GamepadState>(); // what each was told last
  let present = restingGamepad;
  let openings = 0;

  const tell = (socket: Socket) => {
    if (socket.writableLength > maxUnreadBytes) return; // catches up on drain
    const changes = encodeChanges(readers.get(socket) ?? restingGamepad, present, now());
    readers.set(socket, present);
    if (changes.length > 0) socket.write(changes);
  };
  const server = createServer((socket) => {
    if (openings++ < maxLogged) log.info({ openings }, "The game opened the gamepad.");
    readers.set(socket, restingGamepad);
    socket.on("drain", () => tell(socket));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => readers.delete(socket));
    socket.on("data", () => socket.destroy()); // a pad is only read: who writes to it is not the shim
    tell(socket);
  });
  server.maxConnections = maxReaders;
  removeStale(socketPath, log);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
  // Such as no descriptor left for one more reader: those that are there go on.
  server.on("error", (error) => log.warn({ err: error }, "The gamepad could not be opened for a game."));
  return {
    set(state) {
      present = state;
      for (const socket of readers.keys()) tell(socket);
    },
    isOpen: () => readers.size > 0,
    close() {
      for (const socket of readers.keys()) socket.destroy();
      server.close();
    },
  };
}
