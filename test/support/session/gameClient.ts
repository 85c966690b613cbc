import { createRequire } from "node:module";
import type { Callback, Client, Randr, WindowEvent, XFixes, Xkb, XTest } from "x11";
import { promised } from "#streamer/display/xConnection.ts";

/** Events that a game receives about its windows. */
export interface HeardEvent extends WindowEvent {
  /** In a PropertyNotify, the changed property. */
  atom?: number;
  /** In a ClientMessage, its five numbers. */
  data?: number[];
}

/** A game's connection to the display, with requests that the streamer does not use. */
export interface GameClient extends Client {
  require(extension: "xtest", done: Callback<XTest>): void;
  require(extension: "xkb", done: Callback<Xkb>): void;
  require(extension: "fixes", done: Callback<XFixes>): void;
  require(extension: "randr", done: Callback<Randr>): void;
  GrabServer(): void;
  UngrabServer(): void;
  UnmapWindow(window: number): void;
  DestroyWindow(window: number): void;
}
interface GameLibrary {
  createClient(
    options: { display: string },
    done: (error: Error | null, value: { client: GameClient }) => void,
  ): void;
}
const load: (name: string) => GameLibrary = createRequire(import.meta.url);

/** Connects a game to the display. Errors are normal, because others close windows too. */
export async function connectGame(display: string): Promise<GameClient> {
  const { client } = await promised<{ client: GameClient }>((done) =>
    load("x11").createClient({ display }, done),
  );
  client.atoms = { ...client.atoms }; // As in connectDisplay.
  client.on("error", () => undefined);
  return client;
}

/** Encodes 32-bit numbers for a property. */
export function words(...values: number[]): Buffer {
  return Buffer.from(Uint32Array.from(values).buffer);
}
