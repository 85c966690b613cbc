import { expect } from "chai";
import { desktopDeps } from "#test/support/session/desktopDeps.ts";
import type { StreamInput } from "#contracts/stream.ts";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import { createDesktopInput } from "#streamer/input/desktopInput.ts";
import { restingGamepad, type GamepadState } from "#streamer/input/gamepad.ts";
import { createInputRouter, type InputRouter } from "#streamer/input/inputRouter.ts";

describe("createInputRouter", () => {
  let injected: number[][];
  let pads: Map<number, GamepadState>;
  let pongs: number[];
  let wishes: QualityRequest[];
  let locks: number[];
  let released: number;
  let now: number;
  let timer: { ms: number; callback: () => void } | undefined;
  let router: InputRouter;

  beforeEach(() => {
    injected = [];
    pongs = [];
    wishes = [];
    locks = [];
    released = 0;
    timer = undefined;
    pads = new Map();
    now = 1_000;
    const xkb = {
      UseCoreKbd: 0x100,
      ModMask: { Lock: 2, Mod2: 16 },
      UseExtension: () => undefined,
      LatchLockState: (_device: number, _affected: number, state: number) => void locks.push(state),
    } as const;
    const xtest = {
      KeyPress: 2,
      KeyRelease: 3,
      ButtonPress: 4,
      ButtonRelease: 5,
      MotionNotify: 6,
      FakeInput: (type: number, detail: number) => void injected.push([type, detail]),
    } as const;
    const clock = {
      now: () => new Date(now),
      monotonicMs: () => now,
      setTimer: () => ({ cancel: () => undefined }),
    };
    router = createInputRouter({
      desktop: createDesktopInput({
        ...desktopDeps(clock),
        connection: {
          client: { QueryPointer: (_window, done) => done(null, { rootX: 0, rootY: 0, keyMask: 0 }) },
          xtest,
          xkb,
          root: 1,
          size: { width: 1_280, height: 720 },
          isBehind: () => false,
        },
        picture: () => ({ width: 1_280, height: 720 }),
      }),
      gamepads: {
        connect: () => 0,
        set: (index, state) => void pads.set(index, state),
        unplug: (index) => void pads.delete(index),
        rest: () => {
          for (const index of pads.keys()) pads.set(index, restingGamepad);
        },
      },
      clock: {
        now: () => new Date(now),
        monotonicMs: () => now,
        setTimer: (ms, callback) => {
          const set = (timer = { ms, callback });
          return {
            cancel: () => {
              if (timer === set) timer = undefined;
            },
          };
        },
      },
    });
  });
  const handle = (message: StreamInput) =>
    router.handle(JSON.stringify(message), {
      pong: (n) => pongs.push(n),
      quality: (wish) => wishes.push(wish),
      released: () => released++,
    });

  it("applies well-formed messages to desktop and gamepad", () => {
    handle({ t: "key", c: "Space", d: 1 });
    handle({ t: "btn", b: 0, d: 1 });
    handle({ t: "ping", n: 5 });
    expect(injected).to.deep.equal([
      [2, 65],
      [4, 1],
    ]);
    expect(pongs).to.deep.equal([5]);
    expect(router.state()).to.deep.equal({ accepted: 3, rejected: 0, lastInputAt: 1_000 });
  });

  it("does not count a ping or a release as the player's last input", () => {
    handle({ t: "ping", n: 1 });
    handle({ t: "release" });
    expect(router.state().lastInputAt).to.equal(null);
    handle({ t: "rel", x: 1, y: 1 });
    now = 2_000;
    handle({ t: "ping", n: 2 });
    expect(router.state().lastInputAt).to.equal(1_000);
  });

  it("passes on quality requests of players but not of viewers who only watch", () => {
    const wish = { t: "quality", preset: "dataSaver", fps: 25 } as const;
    handle(wish);
    router.handleWatching(JSON.stringify(wish), {
      pong: () => undefined,
      quality: () => expect.fail("a watcher changed the quality"),
      released: () => undefined,
    });
    handle({ t: "quality", width: 640 });
    expect(wishes).to.deep.equal([wish]);
    expect(router.state()).to.deep.equal({ accepted: 1, rejected: 2, lastInputAt: null });
  });

  it("answers pings of viewers who only watch and drops their input", () => {
    const watch = (message: StreamInput) =>
      router.handleWatching(JSON.stringify(message), {
        pong: (n) => pongs.push(n),
        quality: (wish) => wishes.push(wish),
        released: () => undefined,
      });
    handle({ t: "key", c: "Space", d: 1 });
    watch({ t: "ping", n: 7 });
    watch({ t: "key", c: "KeyW", d: 1 });
    watch({ t: "release" });
    expect([injected, pongs]).to.deep.equal([[[2, 65]], [7]]);
    expect(router.state()).to.deep.equal({ accepted: 1, rejected: 2, lastInputAt: 1_000 });
  });

  it("counts and drops malformed messages", () => {
    const bad: (string | Buffer)[] = [
      "",
      "nonsense",
      "{}",
      '{"t":"fire"}',
      '{"t":"btn","b":9,"d":1}',
      '{"t":"rel","x":0.5,"y":0}',
      '{"t":"move","x":-1,"y":0}',
      `{"t":"key","c":"${"K".repeat(600)}","d":1}`,
      Buffer.from([1, 2, 3]),
    ];
    for (const message of bad)
      router.handle(message, { pong: () => undefined, quality: () => undefined, released: () => undefined });
    expect(router.state()).to.deep.equal({ accepted: 0, rejected: bad.length, lastInputAt: null });
    expect(injected).to.deep.equal([]);
  });

  it("releases keys and gamepad together", () => {
    handle({ t: "key", c: "KeyW", d: 1 });
    handle({ t: "pad", s: [1, 2, 3, 4], l: 0, r: 255, b: 1 });
    expect(pads.get(0)?.get("1 304")).to.equal(1);
    router.releaseAll();
    expect(injected.at(-1)).to.deep.equal([3, 25]);
    expect(pads.get(0)?.size).to.equal(0);
  });

  it("keeps the states of several gamepads apart, and forgets one that is unplugged", () => {
    handle({ t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 1 });
    handle({ t: "pad", i: 3, s: [0, 0, 0, 0], l: 0, r: 0, b: 2 });
    expect([...pads.keys()]).to.deep.equal([0, 3]);
    expect([pads.get(0)?.get("1 304"), pads.get(3)?.get("1 304"), pads.get(3)?.get("1 305")]).to.deep.equal([
      1, 0, 1,
    ]);
    handle({ t: "unplug", i: 3 });
    expect([...pads.keys()]).to.deep.equal([0]);
  });

  it("resets the gamepad on a message at rest while keys stay held", () => {
    handle({ t: "key", c: "KeyW", d: 1 });
    handle({ t: "pad", s: [1, -2, 3, -4], l: 9, r: 255, b: 2 ** 15 - 1 });
    now += 50;
    handle({ t: "pad", s: [0, 0, 0, 0], l: 0, r: 0, b: 0 });
    expect([...(pads.get(0)?.values() ?? [])].filter((value) => value !== 0)).to.deep.equal([]);
    expect(injected).to.deep.equal([[2, 25]]);
  });

  it("releases what a held message does not name, and presses what it names", () => {
    handle({ t: "key", c: "KeyW", d: 1 });
    handle({ t: "held", k: ["KeyA"], b: 1 });
    expect(injected).to.deep.equal([
      [2, 25],
      [3, 25],
      [2, 38],
      [4, 1],
    ]);
    expect(router.state().lastInputAt, "of the key").to.equal(1_000);
  });

  it("releases everything three seconds after the last message of a browser that sends held messages", () => {
    handle({ t: "key", c: "KeyW", d: 1 });
    expect(timer, "before the first held message").to.equal(undefined);
    handle({ t: "held", k: ["KeyW"], b: 0 });
    const first = timer;
    handle({ t: "ping", n: 1 });
    expect(timer).to.include({ ms: 3_000 }).and.not.equal(first);
    timer?.callback();
    expect([injected.at(-1), released]).to.deep.equal([[3, 25], 1]);
    handle({ t: "held", k: ["KeyW"], b: 0 });
    expect(injected.at(-1)).to.deep.equal([2, 25]);
  });

  it("expects no held messages after a release, which a browser sends when it loses the focus", () => {
    handle({ t: "held", k: ["KeyW"], b: 0 });
    handle({ t: "release" });
    expect(timer).to.equal(undefined);
    handle({ t: "ping", n: 1 });
    expect(timer).to.equal(undefined);
  });

  it("switches the locks in the order of the messages, which is no action of the player", () => {
    handle({ t: "locks", caps: 1, num: 0 });
    handle({ t: "locks", caps: 0, num: 1 });
    expect(locks).to.deep.equal([2, 16]);
    expect(router.state()).to.deep.equal({ accepted: 2, rejected: 0, lastInputAt: null });
  });

  it("discards a queued tap when everything is released", () => {
    handle({ t: "key", c: "KeyW", d: 1 });
    handle({ t: "key", c: "KeyW", d: 0 });
    handle({ t: "key", c: "KeyA", d: 1 });
    handle({ t: "release" });
    expect(injected).to.deep.equal([
      [2, 25],
      [3, 25],
    ]);
    handle({ t: "key", c: "KeyW", d: 1 });
    expect(injected.at(-1)).to.deep.equal([2, 25]);
  });
});
