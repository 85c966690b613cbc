import { expect } from "chai";
import type { Browser } from "playwright-core";
import { whep } from "#contracts/stream.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { buildGame, imageBuildMs, prepareSessionImages } from "#test/support/session/containers.ts";
import { withGpuEncoders } from "#test/support/session/gpuEncoders.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { StreamReceiver } from "#test/support/session/streamReceiver.ts";
import { bearing } from "#test/support/session/tickets.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";

/** Small pictures: the fake GPU encoders take as long as software encoders. */
const small = { QUALITY_WIDTH: "640", QUALITY_HEIGHT: "360", FPS: "20" };

describe("GPU codecs, with software encoders under VA-API's names", () => {
  let browser: Browser;
  let pair: SessionPair;
  let viewer: Viewer;

  before(async function () {
    this.timeout(2 * imageBuildMs);
    const images = await withGpuEncoders(await prepareSessionImages());
    const archive = await buildGame("testcard", images.game);
    browser = await launchBrowser();
    pair = await startSessionPair({
      images,
      game: { archive, launcher: "testcard.sh" },
      streamerEnv: { PROFILE: "gpu", CODECS: "av1,h265,h264,vp8", ...small },
    });
  });
  beforeEach(async () => {
    viewer = await openViewer(browser, pair);
  });
  afterEach(() => viewer.close());
  after(async () => {
    await pair.remove();
    await browser.close();
  });

  const codecInUse = async (): Promise<string | undefined> => (await viewer.stats()).video?.codec;

  it("have VA-API drivers for AMD and, on amd64, Intel in the streamer image", async () => {
    const drivers = (await pair.inStreamer("sh", "-c", "ls /usr/lib/*/dri")).split("\n");
    expect(drivers).to.include.members([
      "radeonsi_drv_video.so",
      ...(process.arch === "x64" ? ["iHD_drv_video.so"] : []),
    ]);
  });

  it("show the game in AV1, and the game receives keys", async () => {
    expect(await viewer.connect({ takeover: true })).to.include({ status: 201 });
    const card = new TestCard(viewer);
    const before = await eventually(() => card.presses(), { what: "the test card in AV1" });
    await viewer.press("Space");
    await card.showsPresses(before + 1);
    expect(await codecInUse()).to.equal("video/AV1");
    expect(await pair.status()).to.include({ codec: "av1", encoder: "vaav1enc" });
  });

  it("restart with a key frame for each viewer and after a resize", async () => {
    await viewer.connect({ client: "client-0001", takeover: true });
    await viewer.reload();
    expect(await viewer.connect({ client: "client-0001" })).to.include({ status: 201 });
    await viewer.send({ t: "quality", preset: "auto", width: 480, height: 270 });
    await eventually(async () => (await viewer.stats()).video?.frameWidth === 480, {
      what: "a smaller picture",
    });
    expect((await viewer.stats()).video)
      .to.include({ codec: "video/AV1", packetsLost: 0 })
      .and.have.property("keyFramesDecoded")
      .that.is.at.least(2);
  });

  it("restart with a key frame for a lower bitrate, but not for each slightly higher one", async () => {
    expect(await viewer.connect({ takeover: true })).to.include({ status: 201 });
    const capTo = async (maxKbps: number): Promise<void> => {
      await viewer.send({ t: "quality", preset: "auto", width: 640, height: 360, fps: 20, maxKbps });
      await eventually(
        async () =>
          (await viewer.notices()).some((notice) => notice.t === "quality" && notice.maxKbps === maxKbps),
        { what: `a bitrate of ${maxKbps}` },
      );
    };
    /** Share of everything encoded a moment ago. */
    const keyFrames = async (): Promise<number> => {
      const decoded = (await viewer.stats()).video?.framesDecoded ?? 0;
      return eventually(
        async () => {
          const video = (await viewer.stats()).video;
          return video !== undefined && video.framesDecoded > decoded + 10 && video.keyFramesDecoded;
        },
        { what: "ten more pictures" },
      );
    };
    const whole = await keyFrames();
    await capTo(1_000);
    const lowered = await keyFrames();
    expect(lowered).to.be.above(whole);
    for (const kbps of [1_050, 1_100, 1_150, 1_190]) await capTo(kbps);
    // A busy machine may also lower the rate in the meantime, which causes a key frame too.
    expect(await keyFrames(), "key frames, of which four bitrates would be four").to.be.below(lowered + 4);
    expect(
      (await pair.status()).mediaRestarts,
      "encoders that ended because their buffer did not follow the bitrate",
    ).to.equal(0);
  });

  it("fall back to H.264 for a browser that supports none of them", async () => {
    expect(await viewer.connect({ codec: "video/h264", takeover: true })).to.include({ status: 201 });
    await eventually(() => new TestCard(viewer).presses().then((presses) => presses !== undefined), {
      what: "the test card in H.264",
    });
    expect(await codecInUse()).to.equal("video/H264");
  });

  it("send H.265 to a player that supports it", async () => {
    let sdpAnswer = "";
    const receiver = await StreamReceiver.open(async (sdp) => {
      const response = await fetch(`${pair.signalUrl}${whep.path}?${whep.takeoverParameter}=true`, {
        method: "POST",
        headers: { "content-type": whep.contentType, ...bearing(pair.tickets.viewer()) },
        body: sdp,
      });
      return (sdpAnswer = await response.text());
    }, "H265");
    try {
      expect(sdpAnswer)
        .to.match(/^a=rtpmap:96 H265\/90000\r$/m)
        .and.match(/^a=fmtp:96 level-id=93;profile-id=1;tier-flag=0;tx-mode=SRST\r$/m);
      await eventually(async () => (await pair.status()).fps > 5, { what: "pictures" });
      expect(await pair.status()).to.include({ codec: "h265", encoder: "vah265enc" });
    } finally {
      await receiver.close();
    }
  });
});
