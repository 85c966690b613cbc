import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { silentLogger, type Logger } from "#runtime/logger.ts";
import { emptyProbePipeline } from "#streamer/media/encoders.ts";
import { probeEncoders } from "#streamer/media/probe.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { insteadOfChild } from "#test/support/processes/insteadOfChild.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

/** Matches only the names of GPU encoders in a pipeline. */
const isOnGpu = "/! (nv|va)[a-z0-9]+enc /.test(pipeline)";
/** Reports that every encoder works. */
const works = `process.on("message", () => process.send({ works: true, message: "" }));
  process.once("disconnect", () => process.exit())`;
/** Condition for a process that must initialise the drivers before any encoder is tried. */
const isOfDrivers = `pipeline === ${JSON.stringify(emptyProbePipeline)}`;
/** First entry of the tried encoders. */
const drivers = "drivers";

describe("the encoder probe with fake GStreamer processes", function () {
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
  /** Kills processes that still hang. */
  afterEach(() =>
    eventually(
      async () => {
        await clock.advance(3_000);
        return isOver;
      },
      { what: "the end of the trials" },
    ),
  );

  function probe(codecs: readonly VideoCodec[], child: string, inSoftware = child): void {
    const logger: Logger = { ...silentLogger, info: ({ encoder = drivers }) => void tried.push(encoder) };
    const env = { gpu: insteadOfChild(child), software: insteadOfChild(inSoftware) };
    probing = probeEncoders({
      codecs,
      profile: "gpu",
      picture: { width: 1_280, height: 720, fps: 60 },
      env,
      logger,
      clock,
    }).finally(() => (isOver = true));
  }
  const found = async () =>
    Object.fromEntries([...(await probing)].map(([codec, { name }]) => [codec, name]));

  it("waits once for each driver that hangs, so that an offer can wait for the software encoders", async () => {
    probe(
      ["av1", "h264", "vp8"],
      `process.on("message", ({ pipeline }) => {
      if (${isOnGpu}) for (;;);
      process.send({ works: true, message: "" });
      process.once("disconnect", () => process.exit());
    })`,
    );
    await eventually(() => tried.length === 1, { what: "the start of the drivers" });
    for (const [index, name] of ["nvav1enc", "vaav1enc"].entries()) {
      await eventually(() => clock.pendingTimers === 1, { what: `the trial of ${name}` });
      await clock.advance(3_000);
      await eventually(() => tried.length === index + 2, { what: `the end of the trial of ${name}` });
    }
    await eventually(() => tried.length === 5, { what: "an end of the trials without any other wait" });
    expect(tried).to.deep.equal([drivers, "nvav1enc", "vaav1enc", "x264enc", "vp8enc"]);
    expect(await found()).to.deep.equal({ h264: "x264enc", vp8: "vp8enc" });
    expect(clock.monotonicMs()).to.equal(6_000);
  });

  it("tries the other encoders of a driver that immediately reports a missing one", async () => {
    probe(
      ["h264"],
      `process.on("message", ({ pipeline }) => process.send({ works: ${isOfDrivers} || pipeline.includes("vah264lpenc"), message: "no such element" }));
      process.once("disconnect", () => process.exit())`,
    );
    expect(await found()).to.deep.equal({ h264: "vah264lpenc" });
    expect(tried).to.deep.equal([drivers, "nvh264enc", "vah264enc", "vah264lpenc"]);
  });

  it("tries only software encoders, without drivers, if a driver hangs during initialisation", async () => {
    probe(["av1", "h264", "vp8"], "for (;;);", works);
    await eventually(() => clock.pendingTimers === 1, { what: "the start of the drivers" });
    await clock.advance(10_000);
    await eventually(() => tried.length === 3, { what: "an end of the trials without any other wait" });
    expect(tried).to.deep.equal([drivers, "x264enc", "vp8enc"]);
    expect(await found()).to.deep.equal({ h264: "x264enc", vp8: "vp8enc" });
    expect(clock.monotonicMs()).to.equal(10_000);
  });

  it("tries only software encoders, without drivers, if a driver crashes during initialisation", async () => {
    probe(["av1", "h264", "vp8"], "process.exit(1);", works);
    expect(await found()).to.deep.equal({ h264: "x264enc", vp8: "vp8enc" });
    expect(tried).to.deep.equal([drivers, "x264enc", "vp8enc"]);
  });

  it("waits for drivers that take nine seconds to initialise, and uses the GPU encoder", async () => {
    const initialised = join(temporaryFolder("drivers"), "initialised");
    probe(
      ["h264"],
      `const { existsSync } = process.getBuiltinModule("node:fs");
      while (!existsSync(${JSON.stringify(initialised)}));
      ${works}`,
    );
    await eventually(() => clock.pendingTimers === 1, { what: "the start of the drivers" });
    await clock.advance(9_000);
    writeFileSync(initialised, "");
    expect(await found()).to.deep.equal({ h264: "nvh264enc" });
    expect(tried).to.deep.equal([drivers, "nvh264enc"]);
  });

  it("tries software encoders in a process without drivers even if GPU encoders are tried", async () => {
    const isWithoutDrivers = (
      is: boolean,
    ) => `process.on("message", ({ pipeline }) => process.send({ works: ${isOfDrivers} || ${is} !== ${isOnGpu}, message: "" }));
      process.once("disconnect", () => process.exit())`;
    probe(["h264", "vp8"], isWithoutDrivers(false), isWithoutDrivers(true));
    expect(await found()).to.deep.equal({ h264: "nvh264enc", vp8: "vp8enc" });
  });
});
