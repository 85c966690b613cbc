import { expect } from "chai";
import { z } from "zod";
import { imageBuildMs, prepareSessionImages } from "#test/support/session/containers.ts";

/** Small pictures and one codec keep it cheap. */
const settings = { PROFILE: "gpu", WIDTH: "320", HEIGHT: "180", FPS: "30", CODECS: "h264" };
/** The engine's error when the program ends with an exit code. */
const Ended = z.object({ code: z.number(), stdout: z.string() });

describe("the test of a single machine, without a GPU", () => {
  let exitCode: number;
  let report: string;

  /** Runs the program as docs/gpu.md says. It exits with 1 if a session would not render on a GPU. */
  before(async function () {
    this.timeout(imageBuildMs);
    const { engine, streamer } = await prepareSessionImages();
    const variables = Object.entries(settings).map(([name, value]) => `--env=${name}=${value}`);
    const program = [streamer, "/app/session/streamer/src/machineTest/main.ts"];
    ({ code: exitCode, stdout: report } = await engine(
      "run",
      "--rm",
      "--network=none",
      ...variables,
      "--entrypoint=node",
      ...program,
    ).then(
      (stdout) => ({ code: 0, stdout }),
      (error: unknown) => Ended.parse(error),
    ));
  });

  it("reports that a session renders and encodes in software, and why", () => {
    expect(exitCode).to.equal(1);
    expect(report).to.match(
      /^\*\*A session with a GPU renders in software on Xvfb, because .* \(x264enc\)\.\*\*$/m,
    );
    expect(report).to.match(/^- nvh264enc: DOES NOT WORK: /m);
  });

  it("draws and captures on both displays", () => {
    for (const title of ["Xwayland", "Xvfb"]) {
      const section = new RegExp(`^## ${title}\n(.*?)^## `, "ms").exec(report)?.[1];
      expect(section)
        .to.match(/^- Display: works/m)
        .and.match(/^- OpenGL.*: works: llvmpipe.* ms per frame$/m)
        .and.match(/^- EGL: works: llvmpipe.* ms per frame$/m)
        .and.match(/^- Vulkan: works: llvmpipe.* ms per frame$/m);
    }
  });

  it("measures a stream", () => {
    const [, drawn, sent, kbits, ...cores] =
      /^\| x264enc \(h264\) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$/m.exec(
        report,
      ) ?? [];
    for (const number of [drawn, sent, kbits]) expect(Number(number), report).to.be.above(1);
    for (const number of cores) expect(Number(number), report).to.be.below(4);
  });
});
