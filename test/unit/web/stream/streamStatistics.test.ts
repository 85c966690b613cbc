import { expect } from "chai";
import { readCounters, statisticsBetween } from "#web/stream/streamStatistics.ts";

function aReport(more: Record<string, unknown> = {}): Record<string, unknown>[] {
  return [
    { type: "inbound-rtp", kind: "audio", bytesReceived: 1 },
    {
      type: "inbound-rtp",
      kind: "video",
      timestamp: 1_000,
      frameWidth: 1280,
      frameHeight: 720,
      framesDecoded: 30,
      framesDropped: 1,
      bytesReceived: 100_000,
      packetsLost: 2,
      jitterBufferDelay: 0.3,
      jitterBufferEmittedCount: 30,
      totalDecodeTime: 0.03,
      codecId: "c1",
      ...more,
    },
    { type: "codec", id: "c1", mimeType: "video/H264" },
    { type: "candidate-pair", nominated: true, state: "succeeded", currentRoundTripTime: 0.0124 },
  ];
}

describe("statisticsBetween", () => {
  it("returns rates over the last interval", () => {
    const before = readCounters(aReport());
    const now = readCounters(
      aReport({
        timestamp: 2_000,
        framesDecoded: 90,
        bytesReceived: 600_000,
        jitterBufferDelay: 0.9,
        jitterBufferEmittedCount: 90,
        totalDecodeTime: 0.12,
      }),
    );
    expect(statisticsBetween(before, now)).to.deep.equal({
      width: 1280,
      height: 720,
      framesPerSecond: 60,
      bitrateKbps: 4_000,
      roundTripMs: 12,
      jitterBufferMs: 10,
      decodeMs: 1.5,
      packetsLost: 2,
      framesDropped: 1,
      codec: "H264",
    });
  });

  it("returns no rates for the first reading or across two connections", () => {
    const now = readCounters(aReport());
    expect(statisticsBetween(undefined, now)).to.include({
      framesPerSecond: null,
      bitrateKbps: null,
      codec: "H264",
    });
    const ofLongerConnection = readCounters(
      aReport({ timestamp: 500, framesDecoded: 5_000, bytesReceived: 9e9 }),
    );
    expect(statisticsBetween(ofLongerConnection, now)).to.include({
      framesPerSecond: null,
      bitrateKbps: null,
    });
  });

  it("returns null for values that the browser does not report", () => {
    expect(statisticsBetween(undefined, readCounters([]))).to.include({
      width: null,
      roundTripMs: null,
      codec: null,
    });
  });
});
