import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { gameOutputBytes, gameOutputFile, podPaths, socketNames } from "#contracts/nodeLayout.ts";
import { limits } from "#contracts/limits.ts";
import { maxGamepads, stickScale, triggerScale } from "#contracts/stream.ts";
import { GameEndedBy, GameEndReason, gameReportFile } from "#contracts/termination.ts";
import { readConfig } from "#streamer/config.ts";
import { captureName, buildVideoPipeline } from "#streamer/media/pipelines.ts";
import { encoders } from "#streamer/media/encoders.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const folder = "session";
const text = (path: string): string => readFileSync(join(repositoryRoot, path), "utf8");
const matches = (source: string, pattern: RegExp): string[] =>
  [...source.matchAll(pattern)].map(([, match = ""]) => match);

describe("the session image's programs in C", () => {
  const supervisor = readdirSync(join(repositoryRoot, folder, "supervisor"))
    .map((name) => text(`${folder}/supervisor/${name}`))
    .join("\n");
  const shim = readdirSync(join(repositoryRoot, folder, "shim"))
    .map((name) => text(`${folder}/shim/${name}`))
    .join("\n");
  const capture = text(`${folder}/capture/displaysrc.c`);
  const readme = text(`${folder}/README.md`);

  it("read only the variables in README.md's table of the game container", () => {
    const [, section = ""] = readme.split("## Game container");
    const rows = (section.split("## Streamer container")[0] ?? "")
      .split("\n")
      .filter((line) => line.startsWith("| `"));
    const documented = rows.flatMap((row) => matches(row.split("|")[1] ?? "", /`([A-Z0-9_]+)`/g));
    const read = [
      ...matches(supervisor, /environmentOr\("(\w+)"/g),
      ...matches(shim, /getenv\("(JOYPOD_\w+)"/g),
    ];
    expect(read).to.have.lengthOf.at.least(11);
    expect(documented).to.include.members(read);
  });

  it("use the same defaults and file names as contracts and streamer", () => {
    const { display } = readConfig({
      UDP_PORT: "30000",
      POD_IP: "192.0.2.1",
      SESSION_ID: "gs-one",
      TICKET_PUBLIC_KEY: "none",
      OPERATOR_PUBLIC_KEY: "A".repeat(43),
    });
    expect(supervisor).to.include(`environmentOr("DISPLAY", "${display}")`);
    expect(supervisor).to.include(`environmentOr("RUN_DIR", "${podPaths.run}")`);
    expect(supervisor).to.include(`"%s/${socketNames.sound}"`);
    expect(supervisor).to.include(`#define SOCKET_NAME "${socketNames.close}"`);
    const { closeSeconds, stopGraceSeconds } = limits.gameSession;
    expect(supervisor).to.include(`environmentOr("GAME_GRACE_SECONDS", "${stopGraceSeconds.default}")`);
    expect(supervisor).to.include(`CLOSE_MS = ${closeSeconds * 1000}`);
    expect(supervisor).to.include(`environmentOr("GAME_REPORT_DIR", "${podPaths.gameReport}")`);
    expect(shim).to.include(`"${podPaths.run}/${socketNames.gamepads}"`);
    expect(supervisor).to.include(`#define FILE_NAME "${gameReportFile}"`);
    expect(supervisor).to.include(`#define FILE_NAME "${gameOutputFile}"`);
    expect(supervisor).to.include(`TAIL_BYTES = ${gameOutputBytes / 1024} * 1024`);
  });

  it("exit with the codes in README.md", () => {
    const codes = new Map(
      [...supervisor.matchAll(/(EXIT_\w+) = (\d+)/g)].map(([, name = "", code = ""]) => [name, code]),
    );
    expect([...codes.keys()]).to.have.members([
      "EXIT_USAGE",
      "EXIT_NO_DISPLAY",
      "EXIT_NO_PROCESS",
      "EXIT_NO_DIRECTORY",
      "EXIT_NO_SANDBOX",
    ]);
    const [, sentence = ""] = /Exit codes: ([^]*?)\n\n/.exec(readme) ?? [];
    for (const [name, code] of codes) expect(sentence, name).to.match(new RegExp(`\\b${code}\\b`));
  });

  it("report the end of a game with the contract's reasons", () => {
    const reasons = [
      ...matches(supervisor, /giveUp\("([a-z-]+)"/g),
      ...matches(supervisor, /snprintf\(reason, sizeof reason, "([a-z-]+)"\)/g),
      ...matches(supervisor, /writeTerminationReport\([^;]*?"([a-z-]+)"/g),
      ...matches(supervisor, /"([a-z-]+)" : "stopped"/g),
      ...matches(supervisor, /char reason\[\d+\] = "([a-z-]+)"/g),
    ];
    expect(new Set(reasons)).to.include.keys(
      "exited",
      "no-display",
      "out-of-memory",
      "stopped",
      "stopped-by-kill",
    );
    const enders = matches(supervisor, /endedBy = "([a-z-]+)"/g);
    expect(enders).to.have.members([...GameEndedBy.options]);
    for (const reason of reasons) expect(GameEndReason.safeParse(reason).success, reason).to.equal(true);
  });

  it("use the contract's ranges for the gamepad's axes", () => {
    expect(shim).to.match(new RegExp(`STICK = ${stickScale},\\s*TRIGGER = ${triggerScale}\\b`));
    expect(shim).to.include(`MAX_PADS = ${maxGamepads}`);
  });

  it("provide the capture element of the streamer's pipeline with its properties", () => {
    const [encoder] = encoders;
    if (!encoder) throw new Error("There is no encoder.");
    const [element = "", ...settings] = (
      buildVideoPipeline(encoder, ":99", { preset: "auto", width: 1280, height: 720, fps: 60 }).split(
        " ! ",
      )[0] ?? ""
    ).split(" ");
    expect(capture).to.include(`gst_element_register(plugin, "${element}"`);
    const properties = settings
      .map((setting) => setting.split("=")[0] ?? "")
      .filter((name) => name !== "name");
    expect(properties).to.deep.equal(["display-name", "rate"]);
    for (const property of properties)
      expect(capture).to.match(new RegExp(`g_param_spec_\\w+\\("${property}"`));
    expect(settings).to.include(`name=${captureName}`);
  });
});

describe("the streamer image's build", () => {
  it("precompiles only existing modules", () => {
    const dockerfile = text(`${folder}/image/Dockerfile`);
    const loops = [
      ...dockerfile.matchAll(
        /for \(const part of \[([^\]]+)\]\) await import\(`\/app\/([^$]+)\$\{part\}\.ts`\)/g,
      ),
    ];
    const paths = loops.flatMap(([, names = "", path = ""]) =>
      matches(names, /"([^"]+)"/g).map((name) => `${path}${name}.ts`),
    );
    paths.push(...matches(dockerfile, /await import\("\/app\/([^"]+\.ts)"\)/g));
    expect(paths).to.have.lengthOf.above(5);
    for (const path of paths) expect(existsSync(join(repositoryRoot, path)), path).to.equal(true);
  });
});
