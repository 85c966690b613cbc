import { expect } from "chai";
import { createRetransmitter } from "#streamer/transport/retransmitter.ts";
import { readSequence } from "#streamer/rtp/rtpPacket.ts";

const packetBytes = 1_200;

function aSender({ rateKbps = 4_000, mayRequestKeyFrame = true } = {}) {
  let now = 0;
  let keyFrames = 0;
  const resent: number[] = [];
  const retransmitter = createRetransmitter({
    clock: { monotonicMs: () => now },
    rateKbps: () => rateKbps,
    resend: (packet) => resent.push(readSequence(packet)),
    requestKeyFrame: () => {
      if (mayRequestKeyFrame) keyFrames++;
      return mayRequestKeyFrame;
    },
  });
  return {
    retransmitter,
    resent,
    keyFrames: () => keyFrames,
    wait: (ms: number) => {
      now += ms;
    },
    send: (from: number, count: number) => {
      for (let sequence = from; sequence < from + count; sequence++) {
        const packet = Buffer.alloc(packetBytes);
        packet.writeUInt16BE(sequence & 0xffff, 2);
        retransmitter.sent(packet);
      }
    },
  };
}

describe("createRetransmitter", () => {
  it("retransmits missed packets across the sequence number wrap, and nothing that it never sent", () => {
    const { retransmitter, resent, send } = aSender();
    send(0xfffe, 4);
    retransmitter.respond([0xffff, 0, 77]);
    expect(resent).to.deep.equal([0xffff, 0]);
  });

  it("does not retransmit a packet that is on its way", () => {
    const { retransmitter, resent, send, wait } = aSender();
    send(1, 3);
    retransmitter.respond([2]);
    wait(20);
    retransmitter.respond([2]);
    expect(resent).to.deep.equal([2]);
    wait(30);
    retransmitter.respond([2]);
    expect(resent).to.deep.equal([2, 2]);
  });

  it("forgets packets that are too old to be shown", () => {
    const { retransmitter, resent, send, wait, keyFrames } = aSender();
    send(1, 3);
    wait(1_500);
    retransmitter.respond([1, 2, 3]);
    expect({ resent, keyFrames: keyFrames() }).to.deep.equal({ resent: [], keyFrames: 0 });
  });

  it("forgets packets that the transport can no longer resend, across the sequence number wrap", () => {
    const { retransmitter, resent, send } = aSender();
    send(65_000, 1_500);
    retransmitter.respond([65_499, 65_500, 963]);
    expect(resent).to.deep.equal([65_500, 963]);
  });

  it("requests one key frame instead of exceeding the path's capacity, and ignores earlier packets", () => {
    const { retransmitter, resent, send, wait, keyFrames } = aSender({ rateKbps: 1_000 });
    send(0, 200);
    const lost = Array.from({ length: 150 }, (_, sequence) => sequence);
    retransmitter.respond(lost);
    wait(50);
    retransmitter.respond(lost.slice(0, 3));
    expect({ resent, keyFrames: keyFrames() }).to.deep.equal({ resent: [], keyFrames: 1 });
    send(200, 5);
    retransmitter.respond([202]);
    expect(resent).to.deep.equal([202]);
  });

  it("limits retransmissions to a quarter of the rate over time", () => {
    const { retransmitter, resent, send, wait } = aSender({ rateKbps: 2_000, mayRequestKeyFrame: false });
    const seconds = 10;
    for (let step = 0; step < seconds * 20; step++) {
      send(step * 10, 10);
      for (let first = 0; first < 10; first += 2)
        retransmitter.respond([(step * 10 + first) & 0xffff, (step * 10 + first + 1) & 0xffff]);
      wait(50);
    }
    const kbps = (resent.length * packetBytes * 8) / 1_000 / seconds;
    expect(kbps).to.be.within(400, 550);
  });
});
