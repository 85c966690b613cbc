import { expect } from "chai";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { silentLogger, type Logger } from "#runtime/logger.ts";
import { probeEncoders } from "#streamer/media/probe.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { insteadOfChild } from "#test/support/processes/insteadOfChild.ts";

/** What is true of the names of a GPU's encoders, and of no other words of a pipeline. */
const isOnGpu = "/! (nv|va)[a-z0-9]+enc /.test(pipeline)";

describe("the probe of encoders, by real children that stand for GStreamer's", function () {
  this.timeout(30_000);
  let clock: FakeClock;
  let tried: unknown[];
  let probing: ReturnType<typeof probeEncoders>;
  let isOver: boolean;

  beforeEach(() => {
    clock = new FakeClock();
    tried = [];
    isOver = false;
  });
  /** Ends children that still hang. */
  afterEach(() => eventually(async () => {
    await clock.advance(3_000);
    return isOver;
  }, { what: "the end of the trials" }));

  function probe(codecs: readonly VideoCodec[], child: string): void {
    const log: Logger = { ...silentLogger, info: ({ encoder }) => void tried.push(encoder) };
    probing = probeEncoders({ codecs, profile: "gpu", picture: { width: 1_280, height: 720, fps: 60 }, env: insteadOfChild(child), log, clock })
      .finally(() => isOver = true);
  }
  const found = async () => Object.fromEntries([...await probing].map(([codec, { name }]) => [codec, name]));

  it("waits once for each driver that hangs, whatever the encoders and codecs, so that an offer waits for the software's", async () => {
    probe(["av1", "h264", "vp8"], `process.on("message", ({ pipeline }) => {
      if (${isOnGpu}) for (;;);
      process.send({ works: true, message: "" });
      process.once("disconnect", () => process.exit());
    })`);
    for (const [index, name] of ["nvav1enc", "vaav1enc"].entries()) {
      await eventually(() => clock.pendingTimers === 1, { what: `the trial of ${name}` });
      await clock.advance(3_000);
      await eventually(() => tried.length === index + 1, { what: `the end of the trial of ${name}` });
    }
    await eventually(() => tried.length === 4, { what: "an end of the trials without any other wait" });
    expect(tried).to.deep.equal(["nvav1enc", "vaav1enc", "x264enc", "vp8enc"]);
    expect(await found()).to.deep.equal({ h264: "x264enc", vp8: "vp8enc" });
    expect(clock.monotonicMs()).to.equal(6_000);
  });

  it("tries the other encoders of a driver that says at once that it has not this one", async () => {
    probe(["h264"], `process.on("message", ({ pipeline }) => process.send({ works: pipeline.includes("vah264lpenc"), message: "no such element" }));
      process.once("disconnect", () => process.exit())`);
    expect(await found()).to.deep.equal({ h264: "vah264lpenc" });
    expect(tried).to.deep.equal(["nvh264enc", "vah264enc", "vah264lpenc"]);
  });
});
