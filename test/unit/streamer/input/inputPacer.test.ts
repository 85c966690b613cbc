import { expect } from "chai";
import { gamepadButtons } from "#contracts/stream.ts";
import { createInputPacer, type GameInput, type InputPacer } from "#streamer/input/inputPacer.ts";

describe("createInputPacer", () => {
  let now: number;
  let timer: { at: number; callback: () => void } | undefined;
  let applied: [at: number, input: string][];
  let pacer: InputPacer;
  let readyAt: number;

  beforeEach(() => {
    readyAt = 0;
    now = 1_000;
    timer = undefined;
    applied = [];
    pacer = createInputPacer({
      earliestMs: (input) => (input.t === "pad" ? readyAt : 0),
      apply: (input) => applied.push([now - 1_000, short(input)]),
      clock: {
        monotonicMs: () => now,
        setTimer: (ms, callback) => {
          const set = (timer = { at: now + ms, callback });
          return {
            cancel: () => {
              if (timer === set) timer = undefined;
            },
          };
        },
      },
    });
  });

  function short(input: GameInput): string {
    if (input.t === "key") return `${input.c}${input.d === 1 ? "+" : "-"}`;
    return input.t === "pad" ? `pad ${input.b} ${input.s[0]}` : input.t;
  }
  const key = (c: string, isDown: boolean) => pacer.push({ t: "key", c, d: isDown ? 1 : 0 });
  const pad = (x: number, ...names: (typeof gamepadButtons)[number][]) =>
    pacer.push({
      t: "pad",
      s: [x, 0, 0, 0],
      l: 0,
      r: 0,
      b: names.reduce((bits, name) => bits | (1 << gamepadButtons.indexOf(name)), 0),
    });

  function pass(ms: number): void {
    const end = now + ms;
    while (timer !== undefined && timer.at <= end) {
      const { at, callback } = timer;
      now = at;
      timer = undefined;
      callback();
    }
    now = end;
  }

  it("applies input immediately when keys were held for the minimum time", () => {
    key("KeyW", true);
    pass(60);
    key("KeyW", false);
    key("KeyA", true);
    pacer.push({ t: "rel", x: 1, y: 1 });
    expect(applied).to.deep.equal([
      [0, "KeyW+"],
      [60, "KeyW-"],
      [60, "KeyA+"],
      [60, "rel"],
    ]);
    expect(timer).to.equal(undefined);
  });

  it("extends an instant tap to the minimum time and keeps later input in order", () => {
    key("KeyW", true);
    key("KeyW", false);
    pacer.push({ t: "rel", x: 1, y: 1 });
    key("KeyW", true);
    pass(200);
    expect(applied).to.deep.equal([
      [0, "KeyW+"],
      [50, "KeyW-"],
      [50, "rel"],
      [70, "KeyW+"],
    ]);
  });

  it("keeps the first press of a gamepad until games have opened it", () => {
    readyAt = now + 250;
    pad(0, "south");
    pad(0);
    pass(400);
    expect(applied).to.deep.equal([
      [250, "pad 1 0"],
      [300, "pad 0 0"],
    ]);
  });

  it("paces gamepad buttons but not stick movements", () => {
    pad(0, "south");
    pad(5, "south", "east");
    pad(9, "east");
    pad(9);
    pass(200);
    expect(applied).to.deep.equal([
      [0, "pad 1 0"],
      [0, "pad 3 5"],
      [50, "pad 2 9"],
      [50, "pad 0 9"],
    ]);
  });

  it("applies held keys in their order, and paces the presses that follow", () => {
    const held = (...k: string[]) => pacer.push({ t: "held", k, b: 0 });
    key("KeyW", true);
    held("KeyW");
    key("KeyW", false);
    held();
    held("KeyW");
    key("KeyW", false);
    pass(200);
    expect(applied).to.deep.equal([
      [0, "KeyW+"],
      [0, "held"],
      [50, "KeyW-"],
      [50, "held"],
      [50, "held"],
      [100, "KeyW-"],
    ]);
  });

  it("applies everything immediately when the queue is full", () => {
    for (let count = 0; count < 40; count++) {
      key("KeyW", true);
      key("KeyW", false);
    }
    expect(applied.length).to.be.greaterThan(60);
    pass(1_000);
    expect(applied.length).to.equal(80);
    expect(applied.filter(([, input]) => input === "KeyW+")).to.have.length(40);
  });

  it("does not pace keys without a key code", () => {
    key("Nonsense", true);
    key("Nonsense", false);
    expect(applied).to.have.length(2);
  });
});
