import { expect } from "chai";
import { createRateController } from "#streamer/transport/rateController.ts";
import { createVideoSender } from "#streamer/transport/videoSender.ts";
import { sequenceOf } from "#streamer/rtp/rtpPacket.ts";

/** A sender whose time goes on by `run`. */
function aSender() {
  let now = 0;
  let timers: { at: number; callback: () => void }[] = [];
  const sent: number[] = [];
  const keyFramesAt: number[] = [];
  const sender = createVideoSender({
    now: () => now,
    rate: createRateController({ startKbps: 4_000, minKbps: 300, maxKbps: 4_000, now: () => now, onRate: () => undefined, onOverrun: () => undefined }),
    schedule: (ms, callback) => {
      const timer = { at: now + ms, callback };
      timers.push(timer);
      return () => { timers = timers.filter((other) => other !== timer); };
    },
    send: (packet) => sent.push(sequenceOf(packet)),
    requestKeyFrame: () => {
      keyFramesAt.push(now);
      return true;
    },
  });
  return {
    sender, sent, keyFramesAt,
    /** Packets of these numbers. */
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
  it("sends nothing while it is held, neither what waits nor what is missed, and goes on with a key frame", () => {
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
    sender.resend([0, 1]); // The key frame needs none of these.
    push(120, 5);
    expect(sent.slice(before)).to.deep.equal([120, 121, 122, 123, 124]);
  });

  it("goes on once when it was held again meanwhile, and not after it was closed", () => {
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
});
