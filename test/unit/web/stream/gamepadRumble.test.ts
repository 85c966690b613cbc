import { expect } from "chai";
import { playRumble } from "#web/stream/gamepadRumble.ts";

const notice = { t: "rumble", i: 0, strong: 65_535, weak: 13_107, ms: 1_500 } as const;

describe("playRumble", () => {
  let calls: unknown[][];
  const record =
    (name: string) =>
    (...args: unknown[]) => {
      calls.push([name, ...args]);
      return Promise.reject(new Error("The gamepad was unplugged."));
    };

  beforeEach(() => {
    calls = [];
  });

  it("plays both motors where the browser can, and stops them", () => {
    const pad = { vibrationActuator: { playEffect: record("play"), reset: record("reset") } };
    playRumble(pad, notice);
    playRumble(pad, { ...notice, strong: 0, weak: 0 });
    expect(calls).to.deep.equal([
      ["play", "dual-rumble", { startDelay: 0, duration: 1_500, strongMagnitude: 1, weakMagnitude: 0.2 }],
      ["reset"],
    ]);
  });

  it("plays the stronger of the motors where the browser knows only one", () => {
    const pad = { vibrationActuator: null, hapticActuators: [{ pulse: record("pulse") }] };
    playRumble(pad, notice);
    playRumble(pad, { ...notice, strong: 0, weak: 0 });
    expect(calls).to.deep.equal([
      ["pulse", 1, 1_500],
      ["pulse", 0, 0],
    ]);
  });

  it("does nothing with a gamepad that cannot vibrate", () => {
    playRumble({}, notice);
    playRumble({ vibrationActuator: {}, hapticActuators: [] }, notice);
    expect(calls).to.deep.equal([]);
  });
});
