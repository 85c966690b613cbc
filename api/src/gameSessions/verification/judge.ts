import type { StoredSave } from "#contracts/crd/gameSession.ts";
import type { StoredVerdict, VerificationFinding } from "#contracts/http/gameVerifications.ts";
import { limits, mebibyte } from "#contracts/limits.ts";
import type { RefusalKind, SessionObservations } from "#contracts/observations.ts";

/** What is known of a session that verified a version. */
export interface VerifiedSession {
  /** Undefined if nothing was observed. */
  observed: SessionObservations | undefined;
  /** The end of the game's output, printable. */
  log: string;
  /** Why the session failed; undefined if it ended normally. */
  failureReason: string | undefined;
  save: Pick<StoredSave, "bytes"> | undefined;
  /** Whether the last save was lost or refused. */
  hasSaveFailed: boolean;
}

/** A game that draws less often is not fluent. */
const fluentFps = 20;
/** A shorter time says nothing about the frame rate. */
const measuredSeconds = 5;
/** How much of the output a report has, in characters. */
const logLength = 8_000;
const { environment, windows, libraries, needs, cannot } = {
  environment: "docs/games.md#the-games-environment",
  windows: "docs/games.md#windows",
  libraries: "docs/games.md#libraries",
  needs: "docs/games.md#what-a-game-needs",
  cannot: "docs/games.md#what-a-game-cannot-do",
};

/** Returns the findings, worst first, and what was measured. It is bad if any finding is an error. */
export function judge(session: VerifiedSession): StoredVerdict & { verdict: "good" | "bad" } {
  const findings = [...endFindings(session), ...pictureFindings(session), ...otherFindings(session)];
  const errors = findings.filter(({ severity }) => severity === "error");
  const order = ["error", "warning", "info"];
  return {
    verdict: errors.length > 0 ? "bad" : "good",
    findings: findings.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity)),
    report: reportOf(session),
  };
}

/** Returns what is said about the start and the end of the game. */
function endFindings(session: VerifiedSession): VerificationFinding[] {
  const { observed, log, failureReason } = session;
  const game = observed?.game;
  const missing = missingLibraries(log);
  if (missing.length > 0 && !canGoWithout(session))
    return [
      error(
        "library_missing",
        "A library that the game needs is missing. Put it into the archive.",
        libraries,
        missing,
      ),
    ];
  if (failureReason === "OutOfMemory" || game?.reason === "out-of-memory")
    return [
      error("out_of_memory", "The game used more memory than it may. Declare how much it needs.", needs),
    ];
  if (failureReason === "LauncherExited" || game?.hasOutlivedLauncher === true)
    return [
      error(
        "launcher_exited",
        "The launcher exited while the game was still running, which ends the session. Start the game with exec, or wait for it.",
        environment,
      ),
    ];
  if (game === undefined || game === null)
    return [error("not_started", "The game did not start.", environment)];
  if (game.reason === "exited") return [exited(observed, game.exitCode ?? 0, log)];
  if (game.reason?.startsWith("signal-") === true)
    return [error("crashed", `The game crashed with signal ${game.reason.slice(7)}.`, environment)];
  if (game.endedBy === "sigkill")
    return [
      warning(
        "killed_at_end",
        "The game did not end in time and was killed, so its last save may be incomplete. Handle the close request or SIGTERM.",
        environment,
      ),
    ];
  return [];
}

/** A launcher that cannot be run, a game that fails, or one that ends early. */
function exited(observed: SessionObservations | undefined, code: number, log: string): VerificationFinding {
  if (code === 126 || code === 127) {
    const reason = /^supervise: (cannot start .*)$/m.exec(log)?.[1];
    return error("not_started", "The launcher, or a program that it starts, cannot be run.", environment, [
      reason ?? `exit code ${code}`,
    ]);
  }
  const after = `after ${Math.round(observed?.seconds ?? 0)} s`;
  if (code !== 0) return error("exited", `The game exited with code ${code} ${after}.`, environment);
  const hadPicture = observed?.firstPictureSeconds !== null;
  const message = `The game ended by itself ${after}, ${hadPicture ? "without an error" : "before it showed a picture"}.`;
  return hadPicture ? warning("exited", message, environment) : error("exited", message, environment);
}

/** Returns what is said about windows and picture. A game that did not run has none, which is no news. */
function pictureFindings({ observed }: VerifiedSession): VerificationFinding[] {
  if (observed === undefined || observed.game === null) return [];
  const hasEndedEarly =
    observed.game.reason === "exited" || observed.game.reason?.startsWith("signal-") === true;
  if (observed.firstWindowSeconds === null)
    return hasEndedEarly
      ? []
      : [error("no_window", `The game opened no window in ${Math.round(observed.seconds)} s.`, windows)];
  if (!observed.isMeasured)
    return [info("not_observed", "Picture and sound could not be observed.", environment)];
  if (observed.firstPictureSeconds === null)
    return hasEndedEarly
      ? []
      : [
          error(
            "no_picture",
            "The game's window shows a single colour, such as black, all the time.",
            windows,
          ),
        ];
  const { framesPerSecond, seconds, firstPictureSeconds } = observed;
  if (seconds - firstPictureSeconds < measuredSeconds) return [];
  if (framesPerSecond === 0)
    return [warning("still_picture", "The picture never changed. Nobody pressed a key.", windows)];
  if (framesPerSecond !== null && framesPerSecond < fluentFps)
    return [warning("low_frame_rate", `The picture changed ${framesPerSecond} times a second.`, needs)];
  return [];
}

function otherFindings(session: VerifiedSession): VerificationFinding[] {
  const { observed, log, save, hasSaveFailed } = session;
  if (observed === undefined || observed.game === null) return [];
  const of = (...kinds: RefusalKind[]) =>
    observed.refusals.filter(({ kind }) => kinds.includes(kind)).map(({ detail }) => detail);
  const findings: VerificationFinding[] = [
    warning(
      "write_refused",
      "The game tried to write where it cannot. Only HOME is kept, and /tmp is for caches.",
      environment,
      of("write"),
    ),
    warning(
      "optional_library_missing",
      "The game looked for libraries that are missing, and may go without.",
      libraries,
      [...new Set([...of("library"), ...(canGoWithout(session) ? missingLibraries(log) : [])])].slice(
        0,
        limits.verification.refusals,
      ),
    ),
    warning(
      "network_refused",
      "The game tried to reach the network, which it may not.",
      cannot,
      of("connect", "resolve", "socket"),
    ),
    warning("call_refused", "The game made system calls that are refused.", cannot, of("call")),
    info(
      "not_observed",
      "What these programs were refused is not observed: they are statically linked or written in Go.",
      cannot,
      of("program"),
    ),
    warning(
      "folder_full",
      "A folder that the game writes to was full.",
      environment,
      observed.game.fullFolders ?? [],
    ),
  ].filter(({ details }) => details.length > 0);
  if (hasSaveFailed)
    findings.push(error("save_failed", "What the game saved could not be kept.", environment));
  else if (save === undefined) findings.push(info("nothing_saved", "The game saved nothing.", environment));
  if (observed.isMeasured && !observed.hasSound)
    findings.push(info("silent", "The game made no sound.", libraries));
  return findings;
}

/** Returns whether the game ran and showed a picture although a program that it started lacks a library. */
function canGoWithout({ observed, failureReason }: VerifiedSession): boolean {
  const game = observed?.game;
  if (observed === undefined || game === undefined || game === null || failureReason === "GameCrashed")
    return false;
  const hasFailed =
    (game.reason === "exited" && game.exitCode !== 0) || game.reason?.startsWith("signal-") === true;
  const hasShown = observed.isMeasured
    ? observed.firstPictureSeconds !== null
    : observed.firstWindowSeconds !== null;
  return hasShown && !hasFailed;
}

/** Returns the libraries whose absence kept programs from starting, from the messages of their loader. */
function missingLibraries(log: string): string[] {
  const pattern = /error while loading shared libraries: ([^\s:]+): cannot open shared object file/g;
  return [...new Set([...log.matchAll(pattern)].map(([, name = ""]) => name))].slice(0, 20);
}

const nothingObserved = {
  seconds: 0,
  firstWindowSeconds: null,
  firstPictureSeconds: null,
  framesPerSecond: null,
  hasSound: false,
  hasOpenedGamepad: false,
  refusals: [],
  pictures: [],
  game: null,
};

function reportOf({ observed, log, save, hasSaveFailed }: VerifiedSession): StoredVerdict["report"] {
  const { seconds, game, pictures, ...measured } = observed ?? nothingObserved;
  const { firstWindowSeconds, firstPictureSeconds, framesPerSecond, hasSound, hasOpenedGamepad, refusals } =
    measured;
  return {
    playedSeconds: seconds,
    firstWindowSeconds,
    firstPictureSeconds,
    framesPerSecond,
    hasSound,
    hasOpenedGamepad,
    exit:
      game === null || game.reason === null
        ? null
        : { reason: game.reason, code: game.exitCode, endedBy: game.endedBy ?? null },
    peakMemoryMb: game === null ? null : Math.round((10 * game.peakMemoryBytes) / mebibyte) / 10,
    save: save === undefined ? null : { bytes: save.bytes, restores: !hasSaveFailed },
    refusals,
    pictures: pictures.map(({ atSeconds }) => atSeconds),
    log: log.slice(-logLength).toWellFormed(), // The cut may have halved a character.
  };
}

type Parts = [code: VerificationFinding["code"], message: string, help: string, details?: readonly string[]];
const finding = (
  severity: VerificationFinding["severity"],
  [code, message, help, details = []]: Parts,
): VerificationFinding => ({ code, severity, message, help, details: [...details] });
const error = (...parts: Parts): VerificationFinding => finding("error", parts);
const warning = (...parts: Parts): VerificationFinding => finding("warning", parts);
const info = (...parts: Parts): VerificationFinding => finding("info", parts);
