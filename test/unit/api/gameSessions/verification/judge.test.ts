import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { judge, type VerifiedSession } from "#api/gameSessions/verification/judge.ts";
import { someObservations } from "#test/factories/observations.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const aSession = (overrides: Partial<VerifiedSession> = {}): VerifiedSession => ({
  observed: someObservations(),
  log: "",
  failureReason: undefined,
  save: { bytes: 300 },
  hasSaveFailed: false,
  ...overrides,
});
const silentScreen = { firstPictureSeconds: null, framesPerSecond: null };
const exitedAt = (seconds: number) => ({ seconds, firstWindowSeconds: null, ...silentScreen });

/** Each archive that the platform has to tell apart, with its verdict and the codes of its findings. */
const sessions: [what: string, session: VerifiedSession, verdict: string, codes: string[]][] = [
  ["a good game", aSession(), "good", []],
  [
    "a game without a library",
    aSession({
      observed: someObservations(exitedAt(0), { reason: "exited", exitCode: 127, endedBy: "itself" }),
      log: "./game: error while loading shared libraries: libfmod.so.13: cannot open shared object file: No such file or directory\n",
      failureReason: "GameCrashed",
      save: undefined,
    }),
    "bad",
    ["library_missing", "nothing_saved"],
  ],
  [
    "a game that is played although a helper of it lacks a library",
    aSession({
      observed: someObservations({ refusals: [{ kind: "library", detail: "libhelp.so.1" }] }),
      log: "./helper: error while loading shared libraries: libhelp.so.1: cannot open shared object file\n",
    }),
    "good",
    ["optional_library_missing"],
  ],
  [
    "a launcher that hides that its game lacks a library",
    aSession({
      observed: someObservations(exitedAt(0.1), { reason: "exited", exitCode: 0, endedBy: "itself" }),
      log: "./game: error while loading shared libraries: libfmod.so.13: cannot open shared object file\n",
      failureReason: "GameEndedEarly",
    }),
    "bad",
    ["library_missing"],
  ],
  [
    "a game that writes into /game",
    aSession({ observed: someObservations({ refusals: [{ kind: "write", detail: "/game/save.dat" }] }) }),
    "good",
    ["write_refused"],
  ],
  [
    "a game that opens a socket to a server",
    aSession({ observed: someObservations({ refusals: [{ kind: "connect", detail: "192.0.2.1:443" }] }) }),
    "good",
    ["network_refused"],
  ],
  ["a black screen", aSession({ observed: someObservations(silentScreen) }), "bad", ["no_picture"]],
  [
    "a game that exits at once",
    aSession({
      observed: someObservations(exitedAt(0.2), { reason: "exited", exitCode: 0, endedBy: "itself" }),
      failureReason: "GameEndedEarly",
    }),
    "bad",
    ["exited"],
  ],
  [
    "a launcher that does not wait for its game",
    aSession({
      observed: someObservations({ seconds: 3 }, { reason: "exited", hasOutlivedLauncher: true }),
      failureReason: "LauncherExited",
    }),
    "bad",
    ["launcher_exited"],
  ],
  [
    "a game without a window",
    aSession({
      observed: someObservations({ firstWindowSeconds: null, ...silentScreen }),
    }),
    "bad",
    ["no_window"],
  ],
  [
    "a game that did not start",
    aSession({ observed: someObservations({}, null), save: undefined }),
    "bad",
    ["not_started"],
  ],
  [
    "a game that crashes",
    aSession({ observed: someObservations({}, { reason: "signal-11", exitCode: 139 }) }),
    "bad",
    ["crashed"],
  ],
  [
    "a game above its memory",
    aSession({ observed: someObservations({}, { reason: "out-of-memory", exitCode: 137 }) }),
    "bad",
    ["out_of_memory"],
  ],
  [
    "a game that ends by itself after its introduction",
    aSession({ observed: someObservations({ seconds: 20 }, { reason: "exited", exitCode: 0 }) }),
    "good",
    ["exited"],
  ],
  [
    "a game that must be killed, stutters and is silent",
    aSession({
      observed: someObservations(
        { framesPerSecond: 7, hasSound: false },
        { reason: "stopped-by-kill", endedBy: "sigkill" },
      ),
    }),
    "good",
    ["killed_at_end", "low_frame_rate", "silent"],
  ],
  [
    "a statically linked game",
    aSession({ observed: someObservations({ refusals: [{ kind: "program", detail: "/game/play" }] }) }),
    "good",
    ["not_observed"],
  ],
  ["a save that cannot be kept", aSession({ hasSaveFailed: true }), "bad", ["save_failed"]],
];

describe("judge", () => {
  for (const [what, session, verdict, codes] of sessions)
    it(`finds ${what} ${verdict}`, () => {
      const judged = judge(session);
      expect(judged.findings.map(({ code }) => code)).to.deep.equal(codes);
      expect(judged.verdict).to.equal(verdict);
    });

  it("names the library, the path or the address in its details", () => {
    const detailsOf = (index: number) => judge(sessions[index]![1]).findings[0]?.details;
    expect([1, 2, 4, 5].map(detailsOf)).to.deep.equal([
      ["libfmod.so.13"],
      ["libhelp.so.1"],
      ["/game/save.dat"],
      ["192.0.2.1:443"],
    ]);
  });

  it("reports what was measured", () => {
    expect(judge(aSession({ log: "loading\n" })).report).to.include({
      playedSeconds: 60.5,
      framesPerSecond: 59.9,
      hasOpenedGamepad: true,
      peakMemoryMb: 286.1,
      log: "loading\n",
    });
  });

  it("cuts the output between characters, because the database refuses half of one", () => {
    const { log } = judge(aSession({ log: `${"🎮".repeat(5_000)}.` })).report;
    expect(log.isWellFormed()).to.equal(true);
    expect(log).to.match(/🎮\.$/u);
  });

  it("refers to sections that exist", () => {
    const text = readFileSync(join(repositoryRoot, "docs/games.md"), "utf8");
    const anchors = [...text.matchAll(/^##+ (.+)$/gm)].map(
      ([, title = ""]) => `docs/games.md#${title.toLowerCase().replaceAll("'", "").replaceAll(" ", "-")}`,
    );
    for (const [, session] of sessions)
      for (const { help } of judge(session).findings) expect(anchors).to.include(help);
  });
});
