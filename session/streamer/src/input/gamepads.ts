import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { maxGamepads } from "#contracts/stream.ts";
import { RumbleMixer, type Rumble } from "./forceFeedback.ts";
import { restingGamepad, type GamepadState } from "./gamepad.ts";
import { Hotplug } from "./hotplug.ts";
import { PadFiles } from "./padFiles.ts";
import { PadNode } from "./padNode.ts";
import { removeStale } from "../processes.ts";

/** The gamepads that a game sees through the shim in its container. */
export interface Gamepads {
  /**
   * Connects a pad, if it is not connected. Returns the monotonic time from which its state should be set:
   * games take what a pad reports when they open it for its position at rest.
   */
  connect(pad: number): number;
  /** Sets a pad's state. Connects the pad, if it is not connected. */
  set(pad: number, state: GamepadState): void;
  /** Disconnects a pad. */
  unplug(pad: number): void;
  /** Sets all pads to rest. */
  rest(): void;
  /** Calls `listener` when a pad's vibration changes, and every second while it vibrates. */
  onRumble(listener: (pad: number, rumble: Rumble) => void): void;
  /** Returns whether a game has a pad open. */
  isOpen(): boolean;
  close(): void;
}

export interface GamepadsOptions {
  /** Folder in which the game finds the pads. It is emptied. */
  directory: string;
  logger: Logger;
  clock: Pick<Clock, "now" | "monotonicMs" | "setTimer">;
}

/** Time for a game to open a pad that was connected. */
const settleMs = 250;
/** Bounds the log: a player may connect and disconnect pads without limit. */
const maxLoggedChanges = 32;

interface ConnectedPad {
  settledAtMs: number;
  nodes: readonly PadNode[];
  rumble: RumbleMixer;
}

/** Provides up to `maxGamepads` pads. There are none until the first is used. */
export function openGamepads({ directory, logger, clock }: GamepadsOptions): Gamepads {
  removeStale(directory, logger);
  const files = new PadFiles(directory);
  files.create();
  const connected = new Map<number, ConnectedPad>();
  /** The nodes of the pads that were disconnected last. Programs still have them open. */
  const retired = new Map<number, readonly PadNode[]>();
  /** Pads that the game asked for, which stay connected. */
  let permanent = 0;
  let reportRumble: (pad: number, rumble: Rumble) => void = () => undefined;
  let changes = 0;
  const logChange = (pad: number, message: string) => {
    if (changes++ < maxLoggedChanges) logger.info({ pad }, message);
  };

  const connect = (pad: number): ConnectedPad => {
    const rumble = new RumbleMixer(clock, (strength) => reportRumble(pad, strength));
    const node = (kind: "event" | "joystick", name: string) =>
      new PadNode({ kind, socketPath: files.nodePath(name), rumble, logger, clock });
    files.add(pad);
    files.writeState(pad, restingGamepad);
    const settledAtMs = clock.monotonicMs() + settleMs;
    const added = {
      settledAtMs,
      rumble,
      nodes: [node("event", `event${pad}`), node("joystick", `js${pad}`)],
    };
    connected.set(pad, added);
    hotplug.announce("add", pad);
    logChange(pad, "A gamepad was connected.");
    return added;
  };
  const set = (pad: number, state: GamepadState) => {
    const { nodes } = connected.get(pad) ?? connect(pad);
    files.writeState(pad, state);
    for (const node of nodes) node.set(state);
  };
  const hotplug = new Hotplug({
    socketPath: files.socketPath("hotplug"),
    logger,
    onPlugRequest(count) {
      permanent = Math.min(maxGamepads, Math.max(permanent, count));
      for (let pad = 0; pad < permanent; pad++) if (!connected.has(pad)) connect(pad);
    },
  });
  return {
    connect: (pad) => (connected.get(pad) ?? connect(pad)).settledAtMs,
    set,
    unplug(pad) {
      const removed = connected.get(pad);
      if (removed === undefined) return;
      set(pad, restingGamepad);
      if (pad < permanent) return;
      connected.delete(pad);
      removed.rumble.close();
      for (const node of removed.nodes) node.unplug();
      files.remove(pad);
      hotplug.announce("remove", pad);
      for (const node of retired.get(pad) ?? []) node.close();
      retired.set(pad, removed.nodes);
      logChange(pad, "A gamepad was disconnected.");
    },
    rest() {
      for (const pad of connected.keys()) set(pad, restingGamepad);
    },
    onRumble(listener) {
      reportRumble = listener;
    },
    isOpen: () => [...connected.values()].some(({ nodes }) => nodes.some((node) => node.isOpen)),
    close() {
      hotplug.close();
      for (const { nodes, rumble } of connected.values()) {
        rumble.close();
        for (const node of nodes) node.close();
      }
      for (const nodes of retired.values()) for (const node of nodes) node.close();
    },
  };
}
