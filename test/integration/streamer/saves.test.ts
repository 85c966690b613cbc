import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { imageBuildMs, prepareSessionImages, type SessionImages } from "#test/support/session/containers.ts";
import { LateRemoval } from "#test/support/session/lateRemoval.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";

const startMs = 60_000;
/** A folder that both containers share, so that the test can create it from the streamer's. */
const awaited = "/run/session/save";

describe("a game whose saves are still being restored", function () {
  this.timeout(startMs);
  const removal = new LateRemoval();
  let images: SessionImages;
  let pair: SessionPair;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
  });
  after(() => removal.end());

  beforeEach(async () => {
    pair = await startSessionPair({
      images,
      game: { script: "#!/bin/sh\nexec sleep 600\n" },
      gameEnv: { AWAIT_DIRECTORY: awaited },
    });
  });

  afterEach(() => removal.begin(() => pair.remove()));

  it("starts once they are restored, not when the display is ready", async () => {
    expect(await pair.status()).to.include({ ready: true, game: "waiting" });
    expect(await pair.gameMessage()).to.equal(undefined);
    await pair.inStreamer("mkdir", awaited);
    await eventually(async () => (await pair.status()).game === "running", { what: "the game to start" });
  });

  it("ends immediately when it is stopped before that", async () => {
    await pair.signalGame("TERM");
    expect(await pair.gameExit()).to.equal(0);
    expect(await pair.gameMessage()).to.include({ state: "ended", reason: "stopped", exitCode: 0 });
  });
});
