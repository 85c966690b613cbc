import { expect } from "chai";
import { rumbleScale } from "#contracts/stream.ts";
import { effectBytes, Effects, RumbleMixer, type Rumble } from "#streamer/input/forceFeedback.ts";

/** Returns a `struct ff_effect`. */
function anEffect({ type = 0x50, lengthMs = 0, delayMs = 0, strong = 0, weak = 0, magnitude = 0 }): Buffer {
  const effect = Buffer.alloc(effectBytes);
  effect.writeUInt16LE(type, 0);
  effect.writeUInt16LE(lengthMs, 10);
  effect.writeUInt16LE(delayMs, 12);
  effect.writeUInt16LE(strong, 16);
  effect.writeUInt16LE(weak, 18);
  if (type !== 0x50) effect.writeInt16LE(magnitude, 20);
  return effect;
}

describe("Effects", () => {
  it("plays an effect after its delay, for its length, as often as asked", () => {
    const effects = new Effects();
    effects.upload(3, anEffect({ lengthMs: 100, delayMs: 50, strong: 1_000, weak: 2 }), 0);
    effects.play(3, 2, 1_000);
    expect(effects.strengthAt(1_049)).to.deep.equal({ strong: 0, weak: 0 });
    expect(effects.strengthAt(1_050)).to.deep.equal({ strong: 1_000, weak: 2 });
    expect(effects.nextChangeAfter(1_050)).to.equal(1_300);
    expect(effects.strengthAt(1_300)).to.deep.equal({ strong: 0, weak: 0 });
  });

  it("plays an effect without a length until it is stopped or erased", () => {
    const effects = new Effects();
    for (const id of [0, 1]) effects.upload(id, anEffect({ strong: 10 }), 0);
    for (const id of [0, 1]) effects.play(id, 1, 0);
    expect(effects.strengthAt(1e9)).to.deep.equal({ strong: 20, weak: 0 });
    effects.play(0, 0, 5);
    expect(effects.strengthAt(6).strong).to.equal(10);
    effects.erase(1);
    expect(effects.strengthAt(6).strong).to.equal(0);
  });

  it("starts a playing effect again when a program replaces it, and scales by the gain", () => {
    const effects = new Effects();
    effects.upload(0, anEffect({ lengthMs: 100, strong: 100 }), 0);
    effects.play(0, 1, 0);
    effects.upload(0, anEffect({ lengthMs: 100, strong: 200 }), 90);
    expect(effects.strengthAt(150)).to.deep.equal({ strong: 200, weak: 0 });
    effects.setGain(rumbleScale / 2);
    expect(effects.strengthAt(150).strong).to.equal(100);
  });

  it("plays a wave as a vibration, and limits the sum", () => {
    const effects = new Effects();
    for (const id of [0, 1, 99]) effects.upload(id, anEffect({ type: 0x51, magnitude: -0x7fff }), 0);
    for (const id of [0, 1, 99, 15]) effects.play(id, 1, 0);
    expect(effects.strengthAt(0)).to.deep.equal({ strong: rumbleScale, weak: rumbleScale });
  });
});

describe("RumbleMixer", () => {
  let now: number;
  let timer: { at: number; callback: () => void } | undefined;
  let reports: [at: number, rumble: Rumble][];
  let mixer: RumbleMixer;
  let effects: Effects;

  beforeEach(() => {
    now = 1_000;
    timer = undefined;
    reports = [];
    mixer = new RumbleMixer(
      {
        monotonicMs: () => now,
        setTimer(ms, callback) {
          const set = (timer = { at: now + ms, callback });
          return { cancel: () => (timer = timer === set ? undefined : timer) };
        },
      },
      (rumble) => reports.push([now, rumble]),
    );
    effects = new Effects();
    mixer.add(effects);
  });
  const pass = (ms: number) => {
    const end = now + ms;
    while (timer !== undefined && timer.at <= end) {
      const { at, callback } = timer;
      now = at;
      timer = undefined;
      callback();
    }
    now = end;
  };
  const play = (strong: number, lengthMs: number) => {
    effects.upload(0, anEffect({ strong, lengthMs }), now);
    effects.play(0, 1, now);
    mixer.update();
  };

  it("reports the start and the end of an effect", () => {
    play(500, 200);
    pass(5_000);
    expect(reports).to.deep.equal([
      [1_000, { strong: 500, weak: 0 }],
      [1_200, { strong: 0, weak: 0 }],
    ]);
    expect(timer).to.equal(undefined);
  });

  it("reports fast changes at most every 30 ms, the last of them always", () => {
    for (let strength = 1; strength <= 100; strength++) {
      play(strength, 0);
      pass(1);
    }
    pass(30);
    expect(reports.map(([at]) => at)).to.deep.equal([1_000, 1_030, 1_060, 1_090, 1_120]);
    expect(reports.at(-1)?.[1]).to.deep.equal({ strong: 100, weak: 0 });
  });

  it("repeats a lasting vibration every second, and stops it when the program closes the pad", () => {
    play(7, 0);
    pass(2_500);
    mixer.remove(effects);
    pass(5_000);
    expect(reports.map(([at, { strong }]) => [at, strong])).to.deep.equal([
      [1_000, 7],
      [2_000, 7],
      [3_000, 7],
      [3_500, 0],
    ]);
  });
});
