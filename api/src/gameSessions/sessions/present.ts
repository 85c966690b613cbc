import { type GameExit, type GameSession, isUnreadableSaveReason } from "#contracts/crd/gameSession.ts";
import { failureReasons, recordedFailureReasons, stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import type {
  GameSessionsResponse,
  GameSessionStatusResponse,
  KeepaliveResponse,
  LaunchResponse,
  StopPendingResponse,
  StopResponse,
  GameSessionEndReason,
} from "#contracts/http/gameSessions.ts";
import { GameFolder } from "#contracts/termination.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { launchStepOf } from "#contracts/crd/launchStep.ts";
import { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { fromStreamSpec } from "#contracts/crd/streamSpec.ts";
import { isOngoing, type PublicStatus, publicStatusOf, hasEnded } from "#contracts/crd/sessionState.ts";
import { saveNoticeOf } from "../recording/saveNotice.ts";
import type { AnnouncementWatch } from "../../maintenance/announcementWatch.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import { endingOf, stoppingEndOf, stopReasonOf, type WarningConfig } from "./endings.ts";
import type { GameSessionRow } from "./gameSessionQueries.ts";
import { presentQueued } from "../queue/presentQueued.ts";
import type { LaunchedSession } from "../launching/launchGame.ts";

/** How a stop reason of the cluster is presented to the player. */
interface PublicStopText {
  endReason: GameSessionEndReason;
  /**
   * Messages for an end before the game could be played, and while it was played; absent if the player
   * requested the end.
   */
  messages: EndMessages;
}

interface EndMessages {
  starting?: string;
  running?: string;
  /** Whether the message of a played session goes on with {@link savedSentence}. */
  isSaved?: true;
}

const savedSentence = "Your progress is saved.";

const publicStopTexts: Record<StopReason, PublicStopText> = {
  UserRequested: {
    endReason: "user_requested",
    messages: { starting: "The launch was cancelled. Your saves are unchanged." },
  },
  IdleTimeout: {
    endReason: "idle_timeout",
    messages: {
      starting:
        "Your place in the queue went to the next player, because this page did not answer. Launch the game again to queue again.",
      running: "The session was stopped because it was idle.",
      isSaved: true,
    },
  },
  MaxDuration: {
    endReason: "max_duration",
    messages: { running: "The session reached its maximum duration.", isSaved: true },
  },
  Maintenance: {
    endReason: "maintenance",
    messages: {
      starting: "Joypod is under maintenance. Try again later.",
      running: "The session was stopped for maintenance.",
      isSaved: true,
    },
  },
  Drained: {
    endReason: "drained",
    messages: {
      starting: "The game server was taken out of service. Try again.",
      running: "The game server was taken out of service.",
      isSaved: true,
    },
  },
  Deleted: {
    endReason: "deleted",
    messages: {
      starting: "The session was stopped by an admin of this site. Try again later.",
      running: "The session was stopped by an admin of this site.",
      isSaved: true,
    },
  },
  GameExited: {
    endReason: "game_exited",
    messages: {
      starting: "The game ended before its stream started.",
      running: "The game has ended.",
      isSaved: true,
    },
  },
  NodeLost: {
    endReason: "server_lost",
    messages: {
      starting: "The game server stopped responding while the game was starting. Try again.",
      running: "The game server stopped responding. Your progress up to the last autosave is kept.",
    },
  },
  Failed: {
    endReason: "failed",
    messages: {
      starting: "The game could not be started. Try again in a moment.",
      running: "The game stopped working. Your progress up to the last save is kept.",
    },
  },
};

/** Messages for failures of the game itself, by failure reason. A new launch may fail in the same way. */
const gameFailureTexts: ReadonlyMap<string, PublicStopText["messages"]> = new Map([
  [
    failureReasons.gameCrashed,
    {
      starting:
        "The game ended with an error while it was starting. This is an error of the game, and will probably happen again. Your saves are unchanged.",
      running:
        "The game ended with an error. This is an error of the game, and may happen again. Your progress up to its last save is kept.",
    },
  ],
  [
    failureReasons.gameEndedEarly,
    {
      starting:
        "The game closed before its first picture. This is an error of the game, and will probably happen again. Your saves are unchanged.",
      running: "The game closed before its first picture.",
    },
  ],
  [
    failureReasons.launcherExited,
    {
      starting:
        "The launcher of the game closed before the game did. This is an error of the game, and will probably happen again. Your saves are unchanged.",
      running:
        "The launcher of the game closed while the game was running, which ends the session. This is an error of the game, and may happen again. Your progress up to its last save is kept.",
    },
  ],
  [
    failureReasons.outOfMemory,
    {
      starting:
        "The game needed more memory than it had. It gets more at its next start, if the site allows it.",
      running:
        "The game needed more memory than it had. It gets more at its next start, if the site allows it. Your progress up to its last save is kept.",
    },
  ],
]);

const unreadableMessage =
  "The save of this slot is missing or damaged. Restore the previous version on the game's page.";

const unavailableMessage = "This game is no longer available to you, so your launch left the queue.";

const playLimitMessages: EndMessages = { running: "Your play time is used up.", isSaved: true };

/** A session's end as presented to the player. */
type PublicEnd = Pick<GameSessionStatusResponse, "message" | "gameError"> & {
  endReason: GameSessionEndReason;
};

/** Path prefix of session streams. */
export const streamPath = "/api/stream";

/** Returns the response to an accepted launch. */
export function presentLaunch({ id, isQueued }: LaunchedSession): LaunchResponse {
  return { sessionId: id, status: "starting", ...(isQueued ? { stage: "queued" } : {}) };
}

/** What is shown of a session besides its row. */
export interface PresentDeps {
  cluster: ClusterView;
  announcements: Pick<AnnouncementWatch, "current">;
  config: { baseUrl: string; gameSession: WarningConfig };
}

/**
 * Returns everything that the play page shows of a session, from the row or, if the recorder lags behind,
 * from the cluster.
 */
export function presentGameSession(
  row: GameSessionRow,
  { cluster, announcements, config }: PresentDeps,
  now: Date,
): GameSessionStatusResponse {
  const gameSession = cluster.gameSession(row.id);
  const status = currentStatus(row, gameSession);
  const serverUrl = `${config.baseUrl}${streamPath}`;
  const isGoingOn = isOngoing(status);
  const saveNotice = findSaveNotice(row, gameSession, isGoingOn);
  const ending =
    status === "running"
      ? endingOf(row, gameSession, config.gameSession, now.getTime())
      : status === "stopping"
        ? stoppingEndOf(row, gameSession)
        : undefined;
  const announcement = isGoingOn ? announcements.current(now) : undefined;
  return {
    sessionId: row.id,
    status,
    serverUrl,
    containerUrl: status === "running" ? `${serverUrl}/${row.id}` : null,
    gameTitle: row.gameTitle,
    startedAt: row.startedAt.toISOString(),
    ...(status === "starting" ? presentStart(row, gameSession, cluster) : {}),
    ...(status === "running" && row.expiresAt !== null ? { expiresAt: row.expiresAt.toISOString() } : {}),
    ...(ending === undefined ? {} : { ending }),
    ...(announcement === undefined
      ? {}
      : { announcement: { message: announcement.message, until: announcement.until } }),
    ...(status === "running" && row.playLimitEndsAt !== null
      ? { playLimitEndsAt: row.playLimitEndsAt.toISOString() }
      : {}),
    ...(isGoingOn ? {} : presentEnd(row, gameSession, saveNotice)),
    ...(isGoingOn ? { quality: fromStreamSpec(row.stream).quality } : {}),
    ...(saveNotice === undefined ? {} : { saveNotice }),
    ...(hasEnded(status) ? presentLosses(row) : {}),
  };
}

function presentStart(
  { queue }: GameSessionRow,
  gameSession: GameSession | undefined,
  cluster: ClusterView,
): Pick<GameSessionStatusResponse, "stage" | "progressPercent" | "queue"> {
  return queue === null || gameSession !== undefined
    ? presentLaunchProgress(gameSession, (name) => cluster.gameNode(name))
    : presentQueued(queue);
}

/**
 * Returns the step that the launch is at, and the percentage of its download. A session without an object is
 * still being scheduled.
 */
export function presentLaunchProgress(
  gameSession: GameSession | undefined,
  nodeOf: (name: string) => GameNode | undefined,
): Pick<GameSessionStatusResponse, "stage" | "progressPercent"> {
  if (gameSession === undefined) return { stage: "scheduling" };
  const { spec, status } = gameSession;
  const node = status?.nodeName === undefined ? undefined : nodeOf(status.nodeName);
  const entry = node?.status?.cache?.entries.find(({ digest }) => digest === spec.contentDigest);
  const stage = launchStepOf(gameSession, entry?.state === "Ready") ?? "connecting";
  const progressPercent = stage === "downloading" ? entry?.progressPercent : undefined;
  return { stage, ...(progressPercent === undefined ? {} : { progressPercent }) };
}

/** Returns what may be missing from the last save of an ended session, and the save from before it. */
function presentLosses({
  earlierSave,
  fullFolders,
}: GameSessionRow): Pick<GameSessionStatusResponse, "earlierSave" | "fullFolders"> {
  return {
    ...(earlierSave !== null && {
      earlierSave: { ...earlierSave, savedAt: new Date(earlierSave.savedAt).toISOString() },
    }),
    ...(fullFolders !== null &&
      fullFolders.length > 0 && {
        fullFolders: fullFolders.flatMap((name) => GameFolder.safeParse(name.toLowerCase()).data ?? []),
      }),
  };
}

/**
 * Returns the save notice from the object while it exists: a save may still be in transit when the row is
 * written.
 */
function findSaveNotice(
  row: GameSessionRow,
  gameSession: GameSession | undefined,
  isGoingOn: boolean,
): string | undefined {
  return gameSession === undefined ? (row.saveNotice ?? undefined) : saveNoticeOf(gameSession, isGoingOn);
}

function presentEnd(
  row: GameSessionRow,
  gameSession: GameSession | undefined,
  saveNotice: string | undefined,
): PublicEnd | undefined {
  const hasSaveNotice = saveNotice !== undefined;
  const end = publicEndOf(stopReasonOf(row, gameSession) ?? null, wasReady(row, gameSession), {
    failureReason: row.failureReason ?? gameSession?.status?.failure?.reason,
    exit: gameSession?.status?.exit,
    hasSaveNotice,
  });
  const isPlayLimit = end?.endReason === "max_duration" && row.playLimitEndsAt !== null;
  return isPlayLimit
    ? { endReason: "play_limit", message: playedMessage(playLimitMessages, hasSaveNotice) }
    : end;
}

/**
 * Returns the message for the end of a played session. A notice about its last save replaces the sentence
 * about it.
 */
function playedMessage({ running, isSaved }: EndMessages, hasSaveNotice: boolean): string | undefined {
  if (running === undefined) return undefined;
  return isSaved === true && !hasSaveNotice ? `${running} ${savedSentence}` : running;
}

/** Returns the user's sessions that have not ended. */
export function presentGameSessions(
  rows: readonly GameSessionRow[],
  cluster: ClusterView,
): GameSessionsResponse {
  return {
    sessions: rows.map((row) => {
      const gameSession = cluster.gameSession(row.id);
      return {
        sessionId: row.id,
        gameSlug: row.gameSlug,
        gameTitle: row.gameTitle,
        status: currentStatus(row, gameSession),
        startedAt: row.startedAt.toISOString(),
        ...(row.queue === null || gameSession !== undefined ? {} : presentQueued(row.queue)),
      };
    }),
  };
}

/** Returns the response to a keepalive. */
export function presentKeepalive(expiresAt: Date): KeepaliveResponse {
  return { status: "ok", expiresAt: expiresAt.toISOString() };
}

/** Returns the statistics of an ended session; without a row, the session is still stopping. */
export function presentStop(row: GameSessionRow | undefined): StopResponse | StopPendingResponse {
  if (row === undefined) return { status: "stopping" };
  return {
    status: "stopped",
    duration: rounded(row.durationSeconds),
    cpuSeconds: rounded(row.cpuSeconds),
    peakMemoryMb: rounded(row.peakMemoryMb),
  };
}

/**
 * Returns the session's status from the row, which is authoritative about the end. Only a status before the
 * end may come from the cluster.
 */
export function currentStatus(
  row: Pick<GameSessionRow, "status">,
  gameSession: GameSession | undefined,
): PublicStatus {
  if (gameSession === undefined || !isOngoing(row.status)) return row.status;
  const observed = publicStatusOf(gameSession);
  if (hasEnded(observed)) return "stopping"; // Its result can only be read once it is stored.
  return observed === "starting" ? row.status : observed;
}

function wasReady({ readyAt }: GameSessionRow, gameSession: GameSession | undefined): boolean {
  return readyAt !== null || gameSession?.status?.readyAt !== undefined;
}

function rounded(value: number | null): number {
  return Math.round((value ?? 0) * 100) / 100;
}

/** What else is known about an end. */
interface EndFacts {
  failureReason?: string | null | undefined;
  exit?: GameExit | undefined;
  /** Whether the player also reads a notice about the last save. */
  hasSaveNotice?: boolean;
}

/** Returns the public end for a stop reason and its failure; undefined if there is no stop reason yet. */
export function publicEndOf(
  stopReason: string | null,
  wasReady: boolean,
  { failureReason = null, exit, hasSaveNotice = false }: EndFacts = {},
): PublicEnd | undefined {
  const reason = StopReason.safeParse(stopReason).data;
  if (reason === undefined) return undefined;
  if (failureReason === recordedFailureReasons.gameUnavailable)
    return { endReason: "game_unavailable", message: unavailableMessage };
  const { endReason, messages: usualMessages } = publicStopTexts[reason];
  const gameMessages = gameFailureTexts.get(failureReason ?? "");
  const messages = gameMessages ?? usualMessages;
  const isSaveBad = !wasReady && failureReason !== null && isUnreadableSaveReason(failureReason);
  const message = isSaveBad
    ? unreadableMessage
    : wasReady
      ? playedMessage(messages, hasSaveNotice)
      : messages.starting;
  return {
    // Only a player who waits in the queue can be idle before the game runs.
    endReason: reason === stopReasons.idleTimeout && !wasReady ? "queue_timeout" : endReason,
    ...(message === undefined ? {} : { message }),
    ...(gameMessages === undefined
      ? {}
      : { gameError: exit === undefined ? {} : { exitCode: exit.code, ...definedSignal(exit) } }),
  };
}

function definedSignal({ signal }: GameExit): { signal?: string } {
  return signal === undefined ? {} : { signal };
}
