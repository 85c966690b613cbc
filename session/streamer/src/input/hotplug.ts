import { createServer, type Server, type Socket } from "node:net";
import type { Logger } from "#runtime/logger.ts";
import { removeStale } from "../processes.ts";
import { listPadDevices, type PadDevice } from "./padFiles.ts";

const maxListeners = 128;
/** Bounds the memory of a program that listens and never reads. It is then disconnected. */
const maxUnreadBytes = 16_384;
const maxLineBytes = 64;
const maxWatches = 16;

/** inotify's event masks. */
const inotify = { attributes: 0x4, create: 0x100, delete: 0x200, ignored: 0x8000 } as const;
const inotifyHeaderBytes = 16;
/** inotify pads names to a multiple of this. */
const inotifyNameUnit = 16;

/** A program that wants to know about pads. */
interface Listener {
  /** Whether it gets udev's messages. */
  isUdev: boolean;
  /** Its inotify watches of /dev/input: their numbers and masks. */
  watches: Map<number, number>;
  unparsed: string;
}

export interface HotplugOptions {
  socketPath: string;
  logger: Logger;
  /** Called when a program asks for pads that are connected before it starts. */
  onPlugRequest: (count: number) => void;
}

/**
 * Tells the game's programs which pads appear and vanish. A program sends lines:
 *
 * - `udev`: it gets udev's messages, each after its length as 32 bits.
 * - `inotify WATCH MASK`: it gets the kernel's inotify records for /dev/input.
 * - `ignored WATCH`: it gets the record that ends a watch.
 * - `plug COUNT`: that many pads are connected; answered by `ok`.
 */
export class Hotplug {
  readonly #listeners = new Map<Socket, Listener>();
  readonly #server: Server;
  readonly #options: HotplugOptions;
  #sequence = 1;

  constructor(options: HotplugOptions) {
    this.#options = options;
    const { socketPath, logger } = options;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = maxListeners;
    removeStale(socketPath, logger);
    this.#server.on("error", (error) =>
      logger.warn({ err: error }, "A program could not be told about gamepads."),
    );
    this.#server.listen(socketPath);
  }

  announce(action: "add" | "remove", pad: number): void {
    const devices = listPadDevices(pad);
    for (const device of action === "add" ? devices : devices.toReversed()) {
      const message = encodeUdev(action, device, this.#sequence++);
      for (const [socket, listener] of this.#listeners) {
        if (listener.isUdev) this.#send(socket, message);
        if (device.node !== undefined) this.#send(socket, encodeInotify(listener, action, device.node));
      }
    }
  }

  close(): void {
    for (const socket of this.#listeners.keys()) socket.destroy();
    this.#server.close();
  }

  #accept(socket: Socket): void {
    const listener: Listener = { isUdev: false, watches: new Map(), unparsed: "" };
    this.#listeners.set(socket, listener);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#listeners.delete(socket));
    socket.on("data", (data) => {
      const lines = (listener.unparsed + data.toString("latin1")).split("\n");
      listener.unparsed = lines.pop() ?? "";
      if (listener.unparsed.length > maxLineBytes) socket.destroy();
      for (const line of lines) this.#handle(socket, listener, line);
    });
  }

  #handle(socket: Socket, listener: Listener, line: string): void {
    const [request = "", ...words] = line.split(" ");
    const [first = 0, second = 0] = words.map((word) => Number.parseInt(word, 10) || 0);
    switch (request) {
      case "udev":
        listener.isUdev = true;
        break;
      case "inotify":
        if (listener.watches.size < maxWatches) listener.watches.set(first, second);
        break;
      case "ignored":
        listener.watches.delete(first);
        this.#send(socket, encodeInotifyRecord(first, inotify.ignored, ""));
        break;
      case "plug":
        this.#options.onPlugRequest(first);
        this.#send(socket, Buffer.from("ok\n"));
        break;
      default:
        socket.destroy();
    }
  }

  #send(socket: Socket, data: Buffer): void {
    if (data.length === 0 || socket.destroyed) return;
    socket.write(data);
    if (socket.writableLength > maxUnreadBytes) socket.destroy();
  }
}

/** Returns a message in the form in which udev sends it, after its length. */
function encodeUdev(action: "add" | "remove", { properties }: PadDevice, sequence: number): Buffer {
  const all = {
    ACTION: action,
    ...properties,
    SEQNUM: String(sequence),
    USEC_INITIALIZED: "1",
    TAGS: ":seat:uaccess:",
    CURRENT_TAGS: ":seat:uaccess:",
  };
  const text = Buffer.from(
    Object.entries(all)
      .map(([key, value]) => `${key}=${value}\0`)
      .join(""),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text]);
}

/** Returns the records of a program's watches; empty if it watches for other events. */
function encodeInotify({ watches }: Listener, action: "add" | "remove", node: string): Buffer {
  // udev changes the permissions of a new node, and some programs wait for that.
  const events = action === "add" ? [inotify.create, inotify.attributes] : [inotify.delete];
  const records = [...watches].flatMap(([watch, mask]) =>
    events.filter((event) => (mask & event) !== 0).map((event) => encodeInotifyRecord(watch, event, node)),
  );
  return Buffer.concat(records);
}

function encodeInotifyRecord(watch: number, event: number, name: string): Buffer {
  const nameBytes = name === "" ? 0 : Math.ceil((name.length + 1) / inotifyNameUnit) * inotifyNameUnit;
  const record = Buffer.alloc(inotifyHeaderBytes + nameBytes);
  record.writeInt32LE(watch, 0);
  record.writeUInt32LE(event, 4);
  record.writeUInt32LE(nameBytes, 12);
  record.write(name, inotifyHeaderBytes, "latin1");
  return record;
}
