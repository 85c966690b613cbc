import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { silentLogger, type Logger } from "#runtime/logger.ts";
import {
  gamesOnXvfb,
  inSoftware,
  startDisplay,
  type StartedDisplay,
} from "#streamer/display/startDisplay.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

/** A fake display: accepts connections at its clients' path, and closes them. */
const display = `#!${process.execPath}
require("node:fs").writeFileSync(__filename + ".pid", String(process.pid));
const [, number] = process.argv.map((word) => /^:(\\d+)$/.exec(word)).find((found) => found);
require("node:net").createServer((client) => client.on("error", () => undefined).end()).listen("/tmp/.X11-unix/X" + number);
`;
/** A fake driver that hangs in this step. */
const hang = "echo $$ > $0.pid; exec sleep 600";
let nextDisplay = 0;

describe("the choice of a session's display, with fake displays and drivers", function () {
  this.timeout(60_000);
  let folder: string;
  let clock: FakeClock;
  let logged: unknown[];
  let started: StartedDisplay | undefined;

  beforeEach(() => {
    folder = temporaryFolder("display");
    clock = new FakeClock();
    logged = [];
    mkdirSync("/tmp/.X11-unix", { recursive: true, mode: 0o1777 });
    for (const name of ["cage", "Xvfb"]) writeFileSync(join(folder, name), display, { mode: 0o755 });
  });
  afterEach(async () => {
    await started?.server.stop();
    started = undefined;
  });

  /**
   * Starts a display with these results of the probe's steps. Steps not named succeed on a GPU. On Xvfb
   * `renderers` says what draws in each way.
   */
  async function start(
    steps: Partial<Record<"size" | "gl" | "vulkan", string>>,
    renderers = { zink: "zink Vulkan 1.4(llvmpipe)", nvidia: "llvmpipe" },
  ): Promise<void> {
    const cases = Object.entries(steps)
      .map(([step, script]) => `${step}) ${script} ;;`)
      .join("\n");
    // Only the probes on Xvfb name a driver.
    const onXvfb = `if [ -n "$GALLIUM_DRIVER" ]; then echo "renderer ${renderers.zink}"; exit 0; fi
if [ "$__GLX_VENDOR_LIBRARY_NAME" = nvidia ]; then echo "renderer ${renderers.nvidia}"; exit 0; fi`;
    writeFileSync(
      join(folder, "displayprobe"),
      `#!/bin/sh\n${onXvfb}\necho "renderer A GPU"\ncase $1 in\n${cases}\nesac\n`,
      { mode: 0o755 },
    );
    const logger: Logger = { ...silentLogger, info: (fields) => void logged.push(fields) };
    started = await startDisplay({
      choice: "xwayland",
      profile: "gpu",
      renderNode: undefined,
      width: 1_280,
      height: 720,
      fps: 60,
      display: `:${2_000_000 + (process.pid % 10_000) * 100 + (nextDisplay++ % 100)}`,
      env: { PATH: `${folder}:${process.env["PATH"] ?? ""}` },
      logger,
      clock,
      onExit: () => undefined,
    });
  }
  const runs = (name: string): boolean => {
    const file = join(folder, `${name}.pid`);
    return existsSync(file) && existsSync(`/proc/${readFileSync(file, "utf8").trim()}/exe`);
  };
  const expectXvfb = async (): Promise<void> => {
    expect(started).to.include({
      renderer: "software",
      obstacle: "ProbeFailed",
      gameEnvironment: inSoftware,
    });
    await eventually(() => !runs("cage") && !runs("displayprobe"), {
      what: "the end of the display that was tried, and of its probe",
    });
    expect(runs("Xvfb")).to.equal(true);
    expect(clock.pendingTimers).to.equal(0);
  };

  it("is the accelerated one if each step of the probe works", async () => {
    await start({});
    expect(started).to.include({ renderer: "A GPU", obstacle: undefined });
    expect([runs("cage"), runs("Xvfb")]).to.deep.equal([true, false]);
  });

  for (const step of ["size", "gl", "vulkan"] as const) {
    it(`is Xvfb if a driver hangs in the probe's step ${step}`, async () => {
      const starting = start({ [step]: hang });
      await eventually(() => runs("displayprobe"), { what: "the step that hangs" });
      await clock.advance(4_000);
      await starting;
      await expectXvfb();
      expect(logged).to.deep.include({
        found: { renderer: "A GPU" },
        reason: "displayprobe did not end within 4000 ms",
      });
    });
  }

  for (const [way, renderers] of Object.entries({
    zink: { zink: "zink Vulkan 1.4(A GPU)", nvidia: "A GPU" },
    nvidia: { zink: "zink Vulkan 1.4(llvmpipe)", nvidia: "A GPU" },
  })) {
    it(`is Xvfb, with games that draw on the GPU by ${way}, if the accelerated one fails`, async () => {
      await start({ vulkan: "exit 1" }, renderers);
      expect(started).to.include({ kind: "Xvfb", obstacle: undefined });
      expect(started?.renderer).to.match(/A GPU/);
      expect(started?.gameEnvironment).to.equal(gamesOnXvfb[way as keyof typeof gamesOnXvfb]);
    });
  }

  for (const step of ["gl", "vulkan"] as const) {
    it(`is Xvfb if the output of ${step} is captured in another colour`, async () => {
      const reason = "displayprobe: what was drawn is not what is captured";
      await start({ [step]: `echo "${step}Capture wrong: 004020"; echo "${reason}" >&2; exit 1` });
      await expectXvfb();
      expect(logged).to.deep.include({
        found: { renderer: "A GPU", [`${step}Capture`]: "wrong: 004020" },
        reason,
      });
    });
  }
});
