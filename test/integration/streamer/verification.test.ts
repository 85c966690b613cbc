import { expect } from "chai";
import { SessionObservations } from "#contracts/observations.ts";
import { judge } from "#api/gameSessions/verification/judge.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { compileVerifiedGame, compileWithoutLibrary } from "#test/support/session/compileC.ts";
import { imageBuildMs, prepareSessionImages, type SessionImages } from "#test/support/session/containers.ts";
import { LateRemoval } from "#test/support/session/lateRemoval.ts";
import { lightStream, startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";

/** When the observations of a game that does not end by itself are complete enough. */
const isComplete = ({ seconds, pictures }: SessionObservations): boolean =>
  seconds >= 8 && pictures.length > 0;
const hasEnded = ({ game }: SessionObservations): boolean => game?.state === "ended";

/** A launcher, what is waited for, and the verdict with its findings. */
type Case = [
  what: string,
  script: string,
  isDone: (observed: SessionObservations) => boolean,
  verdict: "good" | "bad",
  codes: string[],
];
const cases: Case[] = [
  ["a good game", "exec ./verifiedGame draw", isComplete, "good", []],
  ["a game that lacks a library", "exec ./needy", hasEnded, "bad", ["library_missing"]],
  [
    "a game that writes into /game",
    "echo level 1 > save.dat; exec ./verifiedGame draw",
    isComplete,
    "good",
    ["write_refused"],
  ],
  ["a game that opens a socket", "exec ./verifiedGame connect", isComplete, "good", ["network_refused"]],
  ["a black screen", "exec ./verifiedGame black", isComplete, "bad", ["no_picture"]],
  ["a game that exits at once", "exit 0", hasEnded, "bad", ["exited"]],
  [
    "a launcher that forks and exits",
    "./verifiedGame draw & sleep 3; exit 0",
    hasEnded,
    "bad",
    ["launcher_exited"],
  ],
];

describe("a session that verifies a version, without a viewer", function () {
  this.timeout(120_000);
  const removal = new LateRemoval();
  let images: SessionImages;
  let programs: string[];
  let pair: SessionPair;

  before(async function () {
    this.timeout(imageBuildMs);
    images = await prepareSessionImages();
    programs = await Promise.all([compileVerifiedGame(), compileWithoutLibrary()]);
  });
  afterEach(() => removal.begin(() => pair.remove()));
  after(() => removal.end());

  async function observations(): Promise<SessionObservations | undefined> {
    const text = await pair
      .inStreamer("cat", "/tmp/joypod-streamer/observations.json")
      .catch(() => undefined); // It is not written before the game has run for a while.
    return text === undefined ? undefined : SessionObservations.parse(JSON.parse(text));
  }

  async function play(script: string, isDone: Case[2]): Promise<SessionObservations> {
    pair = await startSessionPair({
      images,
      game: { script: `#!/bin/sh\ncd /game\n${script}\n`, programs },
      streamerEnv: { ...lightStream, VERIFICATION: "true" },
      gameEnv: { JOYPOD_OBSERVATIONS: "/run/game/observations.log" },
      isReady: false,
    });
    const isSettled = async () => {
      const observed = await observations();
      return observed !== undefined && isDone(observed);
    };
    await eventually(isSettled, { timeoutMs: 90_000, intervalMs: 500, what: "complete observations" });
    await pair.signalGame("TERM").catch(() => undefined); // It may have ended.
    return eventually(
      async () => {
        const observed = await observations();
        return observed !== undefined && hasEnded(observed) && observed;
      },
      { timeoutMs: 20_000, what: "the end of the game" },
    );
  }

  for (const [what, script, isDone, verdict, codes] of cases)
    it(`finds ${what} ${verdict}`, async () => {
      const observed = await play(script, isDone);
      const judged = judge({
        observed,
        log: await pair.gameLogs(),
        failureReason: undefined,
        save: { bytes: 1 },
        hasSaveFailed: false,
      });
      const found = judged.findings.map(({ code }) => code).filter((code) => code !== "silent");
      expect(found, JSON.stringify({ ...observed, pictures: [] })).to.deep.equal(codes);
      expect(judged.verdict).to.equal(verdict);
    });
});
