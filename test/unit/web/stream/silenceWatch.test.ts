import { expect } from "chai";
import { countReceived, watchSilence } from "#web/stream/silenceWatch.ts";

describe("watchSilence", () => {
  let nowMs: number;
  let scheduled: { atMs: number; work: () => void } | undefined;
  let received: number;
  let isReachable: boolean;
  let questions: number;
  let oneWays: number;
  let stop: () => void;

  beforeEach(() => {
    [nowMs, received, questions, oneWays, isReachable] = [0, 0, 0, 0, true];
    stop = watchSilence({
      received: () => Promise.resolve(received),
      isReachable: () => {
        questions += 1;
        return Promise.resolve(isReachable);
      },
      onOneWay: () => (oneWays += 1),
      now: () => nowMs,
      schedule: (ms, work) => {
        scheduled = { atMs: nowMs + ms, work };
        return () => (scheduled = undefined);
      },
    });
  });

  /** Lets time pass. `perLook` packets arrive before each check. */
  async function pass(ms: number, perLook: number): Promise<void> {
    for (const endMs = nowMs + ms; scheduled !== undefined && scheduled.atMs <= endMs;) {
      const { atMs, work } = scheduled;
      [nowMs, scheduled] = [atMs, undefined];
      received += perLook;
      work();
      await new Promise((resolve) => setTimeout(resolve));
    }
  }

  it("reports once that a working network delivers nothing more", async () => {
    await pass(2_000, 30);
    await pass(1_500, 0);
    expect({ questions, oneWays }).to.deep.equal({ questions: 0, oneWays: 0 });
    await pass(10_000, 0);
    expect({ questions, oneWays }).to.deep.equal({ questions: 1, oneWays: 1 });
  });

  it("waits for the first packet", async () => {
    await pass(10_000, 0);
    expect(questions).to.equal(0);
  });

  it("waits while the network is down, and resumes when packets arrive again", async () => {
    isReachable = false;
    await pass(1_000, 30);
    await pass(30_000, 0);
    expect(oneWays).to.equal(0);
    await pass(1_000, 30);
    isReachable = true;
    await pass(1_000, 0);
    expect(oneWays).to.equal(0);
  });

  it("reports nothing if packets arrive while the network is being checked", async () => {
    await pass(1_000, 30);
    await pass(1_500, 0);
    const before = received;
    isReachable = true;
    const asked = pass(250, 0);
    received = before + 1;
    await asked;
    expect(oneWays).to.equal(0);
  });

  it("stops on request", async () => {
    await pass(1_000, 30);
    stop();
    await pass(10_000, 0);
    expect({ questions, oneWays }).to.deep.equal({ questions: 0, oneWays: 0 });
  });
});

describe("countReceived", () => {
  it("grows with each sound or picture packet and each sender report", () => {
    const of = (...entries: object[]): number =>
      countReceived(new Map(entries.map((entry, index) => [String(index), entry])));
    const [sound, picture, report] = [
      { type: "inbound-rtp", packetsReceived: 5 },
      { type: "inbound-rtp", packetsReceived: 7 },
      { type: "remote-outbound-rtp", remoteTimestamp: 100.5 },
    ];
    expect(of()).to.equal(0);
    expect(of(sound, picture, { type: "transport", bytesReceived: 9_000 })).to.equal(12);
    expect(of(sound, picture, report)).to.be.greaterThan(of(sound, picture));
    expect(of(sound, picture, { ...report, remoteTimestamp: 600.5 })).to.be.greaterThan(
      of(sound, picture, report),
    );
  });
});
