import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { expect } from "chai";
import { pino } from "pino";
import { eventually } from "#test/support/clocks/eventually.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { readGamepad, restingGamepad } from "#streamer/input/gamepad.ts";
import { openGamepads, type Gamepads } from "#streamer/input/gamepads.ts";

/** Of a `struct input_event`, the kernel's record of one change. */
const eventBytes = 24;
const absoluteEvent = 3;
const leftX = 0;

/** Returns the left stick's position after all these records; undefined when none of them moves it. */
function lastLeftX(records: Buffer): number | undefined {
  for (let at = records.length - (records.length % eventBytes) - eventBytes; at >= 0; at -= eventBytes) {
    if (records.readUInt16LE(at + 16) === absoluteEvent && records.readUInt16LE(at + 18) === leftX)
      return records.readInt32LE(at + 20);
  }
  return undefined;
}

describe("the gamepads of a hostile game", () => {
  let folder: string;
  let path: string;
  let gamepads: Gamepads;
  let sockets: Socket[];
  let lines: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "joypod-pad-"));
    const directory = join(folder, "pads");
    path = join(directory, "dev/input/event0");
    mkdirSync(join(path, "in", "the", "way"), { recursive: true });
    sockets = [];
    lines = 0;
    const logger = pino(
      new Writable({
        write(_line, _encoding, done) {
          lines++;
          done();
        },
      }),
    );
    gamepads = openGamepads({ directory, logger, clock: systemClock });
    gamepads.connect(0);
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    gamepads.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function open(to = path): Socket {
    const socket = connect(to).on("error", () => undefined);
    sockets.push(socket);
    return socket;
  }

  it("limits concurrent clients and log lines, regardless of how often it is opened", async () => {
    for (let round = 0; round < 20; round++) {
      const many = Array.from({ length: 100 }, () => open());
      await eventually(() => many.filter(({ closed }) => closed).length >= 84, {
        what: "all but 16 to be sent away",
      });
      for (const socket of many) socket.destroy();
      await eventually(() => !gamepads.isOpen(), { what: "the pad to be closed" });
    }
    expect(lines).to.be.within(1, 20);
  });

  it("ignores what a client writes that is no effect, and disconnects one that writes to the joystick", async () => {
    const socket = open();
    const joystick = open(path.replace("event", "js")).resume();
    await eventually(() => gamepads.isOpen(), { what: "the pad to be open" });
    const before = process.memoryUsage().rss;
    await new Promise((resolve) => socket.write(Buffer.alloc(20_000_000, 0x15), resolve));
    joystick.write(Buffer.alloc(8));
    await eventually(() => joystick.closed, { what: "the end of the joystick's writer" });
    expect(process.memoryUsage().rss - before).to.be.lessThan(100_000_000);
    let received = 0;
    socket.on("data", (chunk) => {
      received += chunk.length;
    });
    gamepads.set(0, readGamepad({ t: "pad", s: [1, 0, 0, 0], l: 0, r: 0, b: 0 }));
    await eventually(() => received > 0, { what: "the state" });
  });

  it("limits programs that listen for pads, and disconnects those that send too much or do not read", async () => {
    const hotplug = join(folder, "pads/hotplug");
    const listeners = Array.from({ length: 200 }, () => open(hotplug).resume());
    await eventually(() => listeners.filter(({ closed }) => closed).length === 200 - 128, {
      what: "all but 128 to be sent away",
    });
    const [deaf, loud, wrong] = listeners.filter(({ closed }) => !closed);
    deaf?.pause().write("udev\n");
    loud?.write("x".repeat(1_000));
    wrong?.write("reboot\n");
    await eventually(() => loud?.closed === true && wrong?.closed === true, { what: "their end" });
    // More than what the kernel and the streamer keep for it.
    for (let round = 0; round < 100; round++) {
      gamepads.connect(1);
      gamepads.unplug(1);
      await new Promise(setImmediate);
    }
    deaf?.resume();
    await eventually(() => deaf?.closed === true, { what: "the end of the one that does not read" });
    expect(lines).to.be.within(1, 60);
  });

  it("buffers little for a client that does not read, and gives the next one the current state", async () => {
    open().pause();
    await eventually(() => gamepads.isOpen(), { what: "the pad to be open" });
    const before = process.memoryUsage().rss;
    for (let tick = 0; tick < 50_000; tick++)
      gamepads.set(0, readGamepad({ t: "pad", s: [tick % 30_000, 0, 0, 0], l: 0, r: 0, b: 0 }));
    expect(process.memoryUsage().rss - before).to.be.lessThan(200_000_000);
    let received = 0;
    open().on("data", (chunk) => {
      received += chunk.length;
    });
    await eventually(() => received > 0, { what: "the state" });
    expect(received).to.be.lessThan(1_000);
  });

  it("reports that the stick is at rest to a client that resumes reading", async () => {
    const socket = open();
    socket.pause();
    await eventually(() => gamepads.isOpen(), { what: "the pad to be open" });
    // More than what the kernel and the pad keep for a client: it misses the end of this.
    for (let tick = 0; tick < 100_000; tick++)
      gamepads.set(0, readGamepad({ t: "pad", s: [1 + (tick % 30_000), 0, 0, 0], l: 0, r: 0, b: 0 }));
    gamepads.set(0, restingGamepad);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.resume();
    await eventually(
      () => {
        const position = lastLeftX(Buffer.concat(chunks));
        if (position !== 0) throw new Error(`the stick is at ${position ?? "no place"}`);
        return true;
      },
      { what: "the stick at rest" },
    );
    expect(
      Buffer.concat(chunks).length,
      "bytes of the 4.8 million that a client gets which reads all the time",
    ).to.be.lessThan(2_000_000);
  });
});
