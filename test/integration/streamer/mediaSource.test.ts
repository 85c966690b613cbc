import { expect } from "chai";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { silentLogger, type Logger } from "#runtime/logger.ts";
import { candidateEncoders, encoders } from "#streamer/media/encoders.ts";
import { createMediaSource, type MediaSource } from "#streamer/media/mediaSource.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { insteadOfChild } from "#test/support/processes/insteadOfChild.ts";

const neverStarts = insteadOfChild("");
const crashes = insteadOfChild("process.exit(3)");
/** A picture of one packet, which is only a header. */
const showsOnce = insteadOfChild(`let hasShown = false; process.on("message", ({ type }) => {
  if (type !== "play" || hasShown) return;
  hasShown = true;
  process.send({ type: "video", picture: Uint8Array.from([0, 12, 128, ...Array(11).fill(0)]) });
})`);
/** Sends no pictures and reports the commands it receives. */
const tellsCommands = insteadOfChild(`process.on("message", ({ type, settings }) => {
  if (type !== "load") process.send({ type: "failed", message: [type, ...settings.map(([property, value]) => property + "=" + value)].join(" ") });
})`);

describe("a media source with fake GStreamer processes", function () {
  this.timeout(30_000);
  let clock: FakeClock;
  let lines: { sentence: string; waitMs?: number; reason?: unknown }[];
  let pictures: number;
  /** Environment of future processes. */
  let env: { NODE_OPTIONS: string };
  let source: MediaSource;

  /** A software encoder in this process, or a GPU encoder in another. */
  function open(
    child: typeof env,
    encoder = candidateEncoders(["vp8"], "software")[0]!,
    gpuEnv = neverStarts,
  ): void {
    env = { ...child };
    const logger: Logger = {
      ...silentLogger,
      warn: (fields, sentence) => void lines.push({ ...fields, sentence }),
    };
    source = createMediaSource({
      encoders: new Map([[encoder.codec, encoder]]),
      display: ":99",
      shape: { preset: "auto", width: 1_280, height: 720, fps: 60 },
      soundServer: "unix:/nowhere",
      soundSink: "game",
      env: { software: env, gpu: gpuEnv },
      logger,
      clock,
    });
  }
  const play = (kbps = 3_000, codec: VideoCodec = "vp8") =>
    source.play(codec, kbps, { onVideo: () => pictures++, onAudio: () => undefined });
  const hangs = () => lines.filter(({ sentence }) => sentence.includes("hangs")).length;
  /** Returns the backoff after each process that ended. */
  const waits = () => lines.flatMap(({ waitMs }) => waitMs ?? []);

  beforeEach(() => {
    clock = new FakeClock();
    lines = [];
    pictures = 0;
  });
  afterEach(() => source.close());

  it("gives a process twenty seconds for its first picture and backs off after one without a picture", async () => {
    open(neverStarts);
    play();
    await clock.advance(19_500);
    expect(lines).to.deep.equal([]);
    await clock.advance(500); // Not beyond its end, when the next backoff starts.
    await eventually(() => waits().length === 1, { what: "the end of the first child" });
    await clock.advance(500 + 19_000);
    expect(hangs()).to.equal(1);
    await clock.advance(500);
    await eventually(() => waits().length === 2, { what: "the end of the second child" });
    expect(waits()).to.deep.equal([500, 1_000]);
    Object.assign(env, showsOnce);
    await clock.advance(1_000);
    await eventually(() => pictures > 0, { what: "the picture of the next child" });
  });

  it("kills a process that sends nothing for five seconds, even if a viewer joins, and backs off", async () => {
    open(showsOnce);
    await clock.advance(60_000);
    play();
    await eventually(() => pictures === 1, { what: "a picture" });
    Object.assign(env, neverStarts);
    await clock.advance(3_000);
    play();
    await clock.advance(1_500);
    expect(lines).to.deep.equal([]);
    Object.assign(env, showsOnce);
    await clock.advance(1_000);
    await eventually(() => waits().length === 1, { what: "the end of the child" });
    expect(lines).to.have.length(2);
    expect(waits()).to.deep.equal([500]);
    await clock.advance(500);
    await eventually(() => pictures === 2, { what: "a picture of the next child" });
  });

  it("does not mistake an exited process for one that hangs", async () => {
    open(crashes);
    play();
    for (const [index, waitMs] of [500, 1_000, 2_000, 4_000, 5_000, 5_000].entries()) {
      await eventually(() => waits().length === index + 1, { what: `the end of child ${index + 1}` });
      expect(waits()[index]).to.equal(waitMs);
      await clock.advance(waitMs);
    }
    expect(hangs()).to.equal(0);
  });

  it("passes a new viewer's bitrate to the process that is about to take over", async () => {
    open(showsOnce);
    play();
    await eventually(() => pictures === 1, { what: "a picture" });
    Object.assign(env, tellsCommands);
    void source.reshape({ preset: "dataSaver", width: 854, height: 480, fps: 30 });
    play(1_000);
    await eventually(() => lines.length === 2, { what: "what the next child is told" });
    expect(lines.map(({ reason }) => reason)).to.deep.equal([
      "play target-bitrate=3000000",
      "bitrate target-bitrate=1000000",
    ]);
  });

  it("paces higher bitrates of an encoder that restarts for each, and finally sets the last", async () => {
    open(
      neverStarts,
      encoders.find(({ name }) => name === "vah264enc"),
      tellsCommands,
    );
    play(3_000, "h264");
    for (const kbps of [2_000, 2_500, 3_500]) source.setBitrate(kbps);
    await clock.advance(2_000);
    await eventually(() => lines.length === 3, { what: "what the child is told" });
    expect(lines.map(({ reason }) => reason)).to.deep.equal([
      "play bitrate=3000 cpb-size=1500",
      "bitrate bitrate=2000 cpb-size=1000",
      "bitrate bitrate=3500 cpb-size=1750",
    ]);
  });

  it("starts no process after it is closed", async () => {
    open(showsOnce);
    play();
    await eventually(() => pictures === 1, { what: "a picture" });
    source.close();
    source.stopPlaying();
    expect(await source.reshape({ preset: "dataSaver", width: 854, height: 480, fps: 30 })).to.equal(false);
    await eventually(() => !process.getActiveResourcesInfo().includes("ProcessWrap"), {
      timeoutMs: 5_000,
      what: "no child",
    });
  });
});
