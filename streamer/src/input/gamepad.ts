import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import type { Logger } from "../log.ts";
import { encodeChanges, restingGamepad, type GamepadState } from "./gamepadState.ts";

/** A game that opens the pad and never reads it must not fill memory. */
const maxUnreadBytes = 16_384;
const maxReaders = 16;

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

  const tell = (socket: Socket) => {
    if (socket.writableLength > maxUnreadBytes) return; // catches up on drain
    const changes = encodeChanges(readers.get(socket) ?? restingGamepad, present, now());
    readers.set(socket, present);
    if (changes.length > 0) socket.write(changes);
  };
  const server = createServer((socket) => {
    log.info("The game opened the gamepad.");
    readers.set(socket, restingGamepad);
    socket.on("drain", () => tell(socket));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => readers.delete(socket));
    socket.resume();
    tell(socket);
  });
  server.maxConnections = maxReaders;
  rmSync(socketPath, { force: true }); // left by an earlier life of this container
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
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
