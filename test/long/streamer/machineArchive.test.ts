import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { imageBuildMs, prepareSessionImages, runShell } from "#test/support/session/containers.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

describe("the archive that tests a single machine without a container engine", () => {
  let folder: string;
  let report: string;

  before(async function () {
    this.timeout(imageBuildMs);
    const { engineName, streamer } = await prepareSessionImages();
    const unpacked = temporaryFolder("machine");
    await runShell(
      `JOYPOD_ENGINE=${engineName} tools/gpu/pack.sh ${streamer} ${unpacked}/check.tar && tar -xf ${unpacked}/check.tar -C ${unpacked} && rm ${unpacked}/check.tar`,
    );
    folder = join(unpacked, "joypod-gpu-check");
    report = await check();
  });

  /** Runs the test and returns its report. It fails without a GPU, after the report. */
  function check(): Promise<string> {
    const env = { ...process.env, WIDTH: "320", HEIGHT: "180", FPS: "30", CODECS: "h264" };
    return new Promise((resolve) => {
      execFile(join(folder, "check.sh"), { env, timeout: 240_000 }, (_error, stdout) => resolve(stdout));
    });
  }

  it("draws, captures and encodes", () => {
    expect(report)
      .to.match(/^- Vulkan: works: llvmpipe.* ms per frame$/m)
      .and.match(/^- x264enc: works/m)
      .and.match(/^\| x264enc \(h264\) \| \d/m);
  });

  it("leaves no mounts, so that it can be deleted and run again", async () => {
    expect(readFileSync("/proc/mounts", "utf8")).to.not.include(folder);
    expect(await check()).to.match(/^# Joypod on this machine$/m);
  }).timeout(240_000);
});
