import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseFindings } from "#streamer/display/displayProbe.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { imageBuildMs, prepareSessionImages, type SessionImages } from "#test/support/session/containers.ts";
import { lightStream, startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";

const run = promisify(execFile);
const framesPerSecond = Number(lightStream.FPS);
/** Probes the display as a game, whose libraries are those of the game image, with and without a refresh. */
const launcher = `#!/bin/sh
./displayprobe manager
./displayprobe output
./displayprobe gl 60
./displayprobe vulkan 60
__GLX_VENDOR_LIBRARY_NAME= ./displayprobe gl 60 | sed s/gl/unpaced/
echo probed end
exec sleep 600
`;

describe("a game's display", () => {
  let images: SessionImages;
  let session: SessionPair;
  let found: Map<string, string>;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    session = await startSessionPair({ images, game: await packProbe(), streamerEnv: lightStream });
    found = await eventually(
      async () => {
        const findings = parseFindings(await session.gameLogs());
        return findings.has("probed") ? findings : undefined;
      },
      { timeoutMs: 60_000, what: "the game to have probed its display" },
    );
  });
  after(() => session.remove());

  /** Returns an archive whose launcher runs the streamer image's probe in the game container. */
  async function packProbe(): Promise<{ archive: string; launcher: string }> {
    const folder = temporaryFolder("probe");
    await images.engine(
      "run",
      "--rm",
      "--user=0",
      `--volume=${folder}:/probe`,
      "--entrypoint=cp",
      images.streamer,
      "/usr/local/bin/displayprobe",
      "/probe/",
    );
    await writeFile(join(folder, "run.sh"), launcher, { mode: 0o755 });
    const archive = join(folder, "game.tar.gz");
    await run("tar", ["-czf", archive, "-C", folder, "run.sh", "displayprobe"]);
    return { archive, launcher: "run.sh" };
  }

  // Toolkits look for it once, when they start.
  it("has a window manager when the game starts", () => {
    expect(found.get("manager")).to.equal("joypod");
  });

  it("reports the stream's refresh rate, the common sizes and a physical size of 96 dots per inch", () => {
    expect(found.get("mode")).to.equal("1280x720");
    expect(Number(found.get("rate"))).to.equal(framesPerSecond);
    expect(Number(found.get("modes"))).to.equal(8);
    expect(found.get("millimetres")).to.equal("339x191");
  });

  it("paces frames at that rate, which the software renderer does not", () => {
    const intervalMs = 1_000 / framesPerSecond;
    for (const name of ["glFrameMs", "vulkanFrameMs"])
      expect(Number(found.get(name)), name).to.be.at.least(0.97 * intervalMs);
    expect(Number(found.get("unpacedFrameMs"))).to.be.lessThan(Number(found.get("glFrameMs")));
  });
});
