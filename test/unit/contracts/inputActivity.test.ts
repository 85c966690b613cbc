import { expect } from "chai";
import { InputActivity } from "#contracts/inputActivity.ts";
import { stickScale, triggerScale, type StreamInput } from "#contracts/stream.ts";

type Pad = Extract<StreamInput, { t: "pad" }>;

function aPad(change: Partial<Pad> = {}): Pad {
  return { t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 0, ...change };
}

describe("InputActivity", () => {
  let activity: InputActivity;
  beforeEach(() => {
    activity = new InputActivity();
  });
  const actions = (...messages: StreamInput[]): boolean[] =>
    messages.map((message) => activity.isAction(message));

  it("counts keys, text, buttons, the wheel and movements", () => {
    expect(
      actions(
        { t: "key", c: "KeyA", d: 1 },
        { t: "text", s: "a" },
        { t: "btn", b: 0, d: 0 },
        { t: "wheel", x: 0, y: 1 },
        { t: "rel", x: 1, y: 0 },
        { t: "move", x: 5, y: 5 },
      ),
    ).to.not.include(false);
  });

  it("does not count what a page repeats on its own", () => {
    expect(
      actions(
        { t: "held", k: ["KeyW"], b: 0 },
        { t: "locks", caps: 0, num: 1 },
        { t: "release" },
        { t: "ping", n: 1 },
        { t: "quality", preset: "sharp" },
        { t: "unplug", i: 0 },
      ),
    ).to.not.include(true);
  });

  it("does not count a resting pointer that is reported again", () => {
    const move = { t: "move", x: 5, y: 5 } as const;
    expect(actions(move, move, { ...move, e: 1 }, { ...move, x: 6 })).to.deep.equal([
      true,
      false,
      false,
      true,
    ]);
  });

  it("counts a gamepad beyond its dead zone, and not a worn stick", () => {
    const worn = Math.round(0.2 * stickScale);
    expect(actions(aPad(), aPad({ s: [worn, 0, 0, 0] }), aPad({ s: [-worn, 0, 0, 0] }))).to.not.include(true);
    expect(
      actions(
        aPad({ s: [stickScale, 0, 0, 0] }),
        // Held: it only trembles.
        aPad({ s: [stickScale - worn, 0, 0, 0] }),
        aPad({ s: [stickScale, worn, 0, 0] }),
        aPad(),
      ),
    ).to.deep.equal([true, false, false, true]);
  });

  it("counts buttons and triggers of each gamepad", () => {
    expect(
      actions(
        aPad({ b: 1 }),
        aPad({ b: 1 }),
        aPad({ i: 1 }),
        aPad({ i: 1, b: 1 }),
        aPad({ b: 1, r: triggerScale }),
        aPad({ b: 0, r: triggerScale }),
      ),
    ).to.deep.equal([true, false, false, true, true, true]);
  });
});
