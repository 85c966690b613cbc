import { expect } from "chai";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { createRateController } from "#streamer/transport/rateController.ts";
import { createVideoSender } from "#streamer/transport/videoSender.ts";
import { readSequence } from "#streamer/rtp/rtpPacket.ts";

/** A sender whose time advances with `run`. Its first `refused` key frame requests are refused. */
function aSender({ startKbps = 4_000, refused = 0 } = {}) {
  let now = 0;
  let timers: { at: number; callback: () => void }[] = [];
  const sent: number[] = [];
  const keyFramesAt: number[] = [];
  const clock: Pick<Clock, "monotonicMs" | "setTimer"> = {
    monotonicMs: () => now,
    setTimer: (ms, callback) => {
      const timer = { at: now + ms, callback };
      timers.push(timer);
      return {
        cancel: () => {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
  };
  const sender = createVideoSender({
    clock,
    rate: createRateController({
      startKbps,
      minKbps: 300,
      maxKbps: 4_000,
      clock,
      onRate: () => undefined,
      onOverrun: () => undefined,
    }),
    send: (packet) => sent.push(readSequence(packet)),
    requestKeyFrame: () => {
      keyFramesAt.push(now);
      return keyFramesAt.length > refused;
    },
  });
  return {
    sender,
    sent,
    keyFramesAt,
    /** Pushes packets with these numbers. */
    push: (from: number, count: number) => {
      for (let sequence = from; sequence < from + count; sequence++) {
        const packet = Buffer.alloc(1_200);
        packet.writeUInt16BE(sequence, 2);
        sender.push(packet);
      }
    },
    run: (ms: number) => {
      for (const end = now + ms; now < end; now++) {
        const due = timers.filter(({ at }) => at <= now);
        timers = timers.filter(({ at }) => at > now);
        for (const { callback } of due) callback();
      }
    },
  };
}

describe("createVideoSender", () => {
  it("sends neither queued nor missed packets while it is held, then resumes with a key frame", () => {
    const { sender, sent, keyFramesAt, push, run } = aSender();
    push(0, 100);
    const before = sent.length;
    expect(before).to.be.within(10, 99);
    sender.hold(250);
    expect(sender.isHeld()).to.equal(true);
    push(100, 20);
    sender.resend([0, 1]);
    run(250);
    expect(sent).to.have.lengthOf(before);
    expect(keyFramesAt).to.deep.equal([]);
    run(1);
    expect(sender.isHeld()).to.equal(false);
    expect(keyFramesAt).to.deep.equal([250]);
    sender.resend([0, 1]); // The key frame does not depend on these.
    push(120, 5);
    expect(sent.slice(before)).to.deep.equal([120, 121, 122, 123, 124]);
  });

  it("resumes once when it was held again in the meantime, and not after it was closed", () => {
    const { sender, keyFramesAt, run } = aSender();
    sender.hold(250);
    run(100);
    sender.hold(250);
    run(600);
    expect(keyFramesAt).to.deep.equal([350]);
    sender.hold(250);
    sender.close();
    run(600);
    expect(keyFramesAt).to.deep.equal([350]);
  });

  it("repeats a refused key frame request after discarding the queue", () => {
    for (const [refused, askedAt] of [
      [0, [0]],
      [1, [0, 200]],
      [2, [0, 200]],
    ] as const) {
      const { keyFramesAt, push, run } = aSender({ startKbps: 1_000, refused });
      push(0, 300);
      run(1_000);
      expect(keyFramesAt, `${refused} requests refused`).to.deep.equal(askedAt);
    }
  });

  it("repeats a refused key frame request after resuming", () => {
    const { sender, keyFramesAt, run } = aSender({ refused: 1 });
    sender.hold(50);
    run(1_000);
    expect(keyFramesAt).to.deep.equal([50, 250]);
  });

  it("does not repeat the request after it was closed, or while it is held", () => {
    const closed = aSender({ startKbps: 1_000, refused: 1 });
    closed.push(0, 300);
    closed.sender.close();
    closed.run(1_000);
    expect(closed.keyFramesAt).to.deep.equal([0]);
    const held = aSender({ startKbps: 1_000, refused: 1 });
    held.push(0, 300);
    held.sender.hold(250);
    held.run(1_000);
    expect(held.keyFramesAt).to.deep.equal([0, 250]);
  });
});
