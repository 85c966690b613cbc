import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pino } from "pino";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { gamepadButtons } from "#contracts/stream.ts";
import type { Rumble } from "#streamer/input/forceFeedback.ts";
import { readGamepad } from "#streamer/input/gamepad.ts";
import { openGamepads, type Gamepads } from "#streamer/input/gamepads.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

type Button = (typeof gamepadButtons)[number];

/** The streamer's gamepads for programs of another user, who may connect to them. */
export class PadsForTests {
  readonly directory: string;
  readonly rumbles: [pad: number, rumble: Rumble][] = [];
  readonly #gamepads: Gamepads;

  constructor() {
    const folder = temporaryFolder("pads");
    execFileSync("chmod", ["755", folder]);
    this.directory = join(folder, "pads");
    this.#gamepads = this.#openToAll(() =>
      openGamepads({ directory: this.directory, logger: pino({ level: "silent" }), clock: systemClock }),
    );
    this.#gamepads.onRumble((pad, rumble) => this.rumbles.push([pad, rumble]));
  }

  connect(...pads: number[]): void {
    this.#openToAll(() => pads.map((pad) => this.#gamepads.connect(pad)));
  }

  unplug(pad: number): void {
    this.#gamepads.unplug(pad);
  }

  /** Holds these buttons and no others. */
  hold(pad: number, x: number, leftTrigger: number, ...buttons: Button[]): void {
    const b = buttons.reduce((bits, name) => bits | (1 << gamepadButtons.indexOf(name)), 0);
    this.#gamepads.set(pad, readGamepad({ t: "pad", i: pad, s: [x, 0, 0, 0], l: leftTrigger, r: 0, b }));
  }

  close(): void {
    this.#gamepads.close();
  }

  #openToAll<Result>(open: () => Result): Result {
    const umask = process.umask(0);
    try {
      return open();
    } finally {
      process.umask(umask);
    }
  }
}
