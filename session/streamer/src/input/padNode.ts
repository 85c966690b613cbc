import { createServer, type Server, type Socket } from "node:net";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { effectBytes, Effects, type RumbleMixer } from "./forceFeedback.ts";
import { encodeChanges, encodeJoystick, eventBytes, restingGamepad, type GamepadState } from "./gamepad.ts";
import { removeStale } from "../processes.ts";

/**
 * Bounds the memory of a game that opens a pad and never reads it. It is the sockets' high-water mark,
 * because Node promises a drain event only there.
 */
const maxUnreadBytes = 16_384;
const maxReaders = 16;
/** Bounds the log: a game may open and close a pad without limit. */
const maxLoggedOpenings = 16;

/** Event type of force feedback, and the code in it that sets the overall strength. */
const forceFeedbackEvent = 0x15;
const gainCode = 0x60;
/** The shim's requests. See `session/shim/pad.h`. */
const shimRequests = { upload: 0x80, erase: 0x81, clock: 0x82 } as const;
/** CLOCK_MONOTONIC. Events have wall-clock time unless a program chooses this. */
const monotonicClock = 1;

/** A program that has a device node open. */
interface Reader {
  /** What the program knows. Undefined until the first records are written. */
  sent: GamepadState | undefined;
  isMonotonic: boolean;
  effects: Effects;
  /** The start of a request that has not arrived in full. */
  unparsed: Buffer;
}

export interface PadNodeOptions {
  kind: "event" | "joystick";
  socketPath: string;
  /** Receives the effects of programs that use the event interface. */
  rumble: RumbleMixer;
  logger: Logger;
  clock: Pick<Clock, "now" | "monotonicMs">;
}

/**
 * One of a pad's two device nodes: a socket to which the shim connects a program that opens the node. Each
 * reader gets the changes between the state it received last and the current one.
 */
export class PadNode {
  readonly #options: PadNodeOptions;
  readonly #readers = new Map<Socket, Reader>();
  readonly #server: Server;
  #present = restingGamepad;
  #openings = 0;

  constructor(options: PadNodeOptions) {
    this.#options = options;
    const { socketPath, logger } = options;
    // Half-open, so that a program can still write to a pad that was unplugged: a closed socket would end it
    // with SIGPIPE.
    this.#server = createServer({ highWaterMark: maxUnreadBytes, allowHalfOpen: true }, (socket) =>
      this.#accept(socket),
    );
    this.#server.maxConnections = maxReaders;
    removeStale(socketPath, logger);
    // The listener fails, for example, when no file descriptor is left for another reader. Connected readers
    // continue.
    this.#server.on("error", (error) =>
      logger.warn({ err: error }, "The gamepad could not accept a reader."),
    );
    // Node binds the socket before this returns.
    this.#server.listen(socketPath);
  }

  get isOpen(): boolean {
    return this.#readers.size > 0;
  }

  set(state: GamepadState): void {
    this.#present = state;
    for (const [socket, reader] of this.#readers) this.#sendChanges(socket, reader);
  }

  /** Ends the readers' streams, which the shim reports as an unplugged device, and accepts no others. */
  unplug(): void {
    for (const socket of this.#readers.keys()) socket.end();
    this.#server.close();
  }

  close(): void {
    for (const socket of this.#readers.keys()) socket.destroy();
    this.#server.close();
  }

  #accept(socket: Socket): void {
    const { kind, logger, rumble } = this.#options;
    if (this.#openings++ < maxLoggedOpenings)
      logger.info({ kind, openings: this.#openings }, "The game opened a gamepad.");
    const reader: Reader = {
      sent: kind === "event" ? restingGamepad : undefined,
      isMonotonic: false,
      effects: new Effects(),
      unparsed: Buffer.alloc(0),
    };
    this.#readers.set(socket, reader);
    rumble.add(reader.effects);
    socket.on("drain", () => this.#sendChanges(socket, reader));
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.destroy());
    socket.on("close", () => {
      this.#readers.delete(socket);
      rumble.remove(reader.effects);
    });
    socket.on("data", (data) => {
      // The joystick interface has nothing to write.
      if (kind === "event") this.#readRequests(reader, data);
      else socket.destroy();
    });
    this.#sendChanges(socket, reader);
  }

  #sendChanges(socket: Socket, reader: Reader): void {
    // The changes follow on the drain event. A custom threshold below the mark would not guarantee that
    // event.
    if (socket.writableNeedDrain || socket.writableEnded) return;
    const { kind, clock } = this.#options;
    const changes =
      kind === "event"
        ? encodeChanges(reader.sent ?? restingGamepad, this.#present, this.#eventTimeMs(reader))
        : encodeJoystick(reader.sent, this.#present, clock.monotonicMs());
    reader.sent = this.#present;
    if (changes.length > 0) socket.write(changes);
  }

  #eventTimeMs({ isMonotonic }: Reader): number {
    // The clock that programs in the same kernel read, unlike the service's own monotonic time.
    return isMonotonic
      ? Number(process.hrtime.bigint() / 1_000n) / 1_000
      : this.#options.clock.now().getTime();
  }

  /** Reads what a program wrote. Everything but force feedback and the shim's requests is ignored. */
  #readRequests(reader: Reader, data: Buffer): void {
    const { rumble, clock } = this.#options;
    let rest = Buffer.concat([reader.unparsed, data]);
    for (let length = lengthOfRequest(rest); length !== undefined; length = lengthOfRequest(rest)) {
      applyRequest(reader, rest.subarray(0, length), clock.monotonicMs());
      rest = rest.subarray(length);
      rumble.update(); // After each: a short effect may begin and end in the same data.
    }
    reader.unparsed = Buffer.from(rest);
  }
}

/** Returns the length of the first request if it has arrived in full. */
function lengthOfRequest(data: Buffer): number | undefined {
  if (data.length < eventBytes) return undefined;
  const length = eventBytes + (data.readUInt16LE(16) === shimRequests.upload ? effectBytes : 0);
  return data.length < length ? undefined : length;
}

function applyRequest(reader: Reader, request: Buffer, nowMs: number): void {
  const { effects } = reader;
  const code = request.readUInt16LE(18);
  const value = request.readInt32LE(20);
  switch (request.readUInt16LE(16)) {
    case shimRequests.upload:
      effects.upload(code, request.subarray(eventBytes), nowMs);
      break;
    case shimRequests.erase:
      effects.erase(code);
      break;
    case shimRequests.clock:
      reader.isMonotonic = value === monotonicClock;
      break;
    case forceFeedbackEvent:
      if (code === gainCode) effects.setGain(value);
      else effects.play(code, value, nowMs);
      break;
  }
}
