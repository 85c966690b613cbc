import { expect } from "chai";
import { createPacer } from "#streamer/transport/pacer.ts";

const packetBytes = 1_200;

function aPacer(rateKbps: number) {
  let now = 0;
  let overflows = 0;
  let due: { at: number; callback: () => void } | undefined;
  const sentAt: number[] = [];
  const pacer = createPacer({
    clock: {
      monotonicMs: () => now,
      setTimer: (ms, callback) => {
        due = { at: now + ms, callback };
        return {
          cancel: () => {
            due = undefined;
          },
        };
      },
    },
    rateKbps: () => rateKbps,
    send: () => sentAt.push(now),
    onOverflow: () => {
      overflows++;
    },
  });
  return {
    pacer,
    sentAt,
    overflows: () => overflows,
    isWaiting: () => due !== undefined,
    push: (count: number) => {
      for (let index = 0; index < count; index++) pacer.push(Buffer.alloc(packetBytes));
    },
    run: (ms: number) => {
      for (const end = now + ms; now < end; now++) {
        if (!due || due.at > now) continue;
        const { callback } = due;
        due = undefined;
        callback();
      }
    },
  };
}

describe("createPacer", () => {
  it("sends ordinary pictures immediately", () => {
    const { push, run, sentAt } = aPacer(4_000);
    for (let picture = 0; picture < 60; picture++) {
      push(7);
      expect(sentAt).to.have.length(7 * (picture + 1));
      run(17);
    }
  });

  it("spreads a large picture over time, at two and a half times the rate", () => {
    const { push, run, sentAt } = aPacer(2_000);
    push(100);
    expect(sentAt.length).to.be.within(8, 12);
    run(500);
    expect(sentAt).to.have.length(100);
    expect(sentAt.at(-1)).to.be.within(160, 190); // 88 packets of 1200 bytes at 5 Mbit/s
  });

  it("accounts for retransmissions", () => {
    const { pacer, push, run, sentAt } = aPacer(1_000);
    pacer.spend(30_000);
    push(1);
    expect(sentAt).to.deep.equal([]);
    run(100);
    expect(sentAt).to.have.length(1);
    expect(sentAt[0]).to.be.within(55, 62);
  });

  it("discards a queue that is too old to be shown and reports it", () => {
    const { pacer, push, overflows, sentAt } = aPacer(300);
    push(260);
    expect(overflows()).to.equal(1);
    expect(pacer.waitingBytes()).to.be.below(250_000);
    expect(sentAt.length).to.be.below(15);
  });

  it("sends nothing once closed", () => {
    const { pacer, push, run, sentAt, isWaiting } = aPacer(1_000);
    push(50);
    const before = sentAt.length;
    pacer.close();
    run(1_000);
    expect({ sent: sentAt.length, isWaiting: isWaiting() }).to.deep.equal({ sent: before, isWaiting: false });
  });
});
