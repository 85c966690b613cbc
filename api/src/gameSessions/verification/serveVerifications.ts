import type { GameSession } from "#contracts/crd/gameSession.ts";
import { gameFaults, saveReasons, stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { limits } from "#contracts/limits.ts";
import { findCondition } from "#kube/api/conditions.ts";
import type { Stored } from "#kube/api/object.ts";
import { printableText } from "#runtime/printableText.ts";
import { updateCurrentVersion } from "../../games/gameVersionQueries.ts";
import { syncGameCache, type SyncGameCachesDeps } from "../../games/syncGameCaches.ts";
import { clearRequirement } from "../../games/verificationQueries.ts";
import { readObservations } from "../../games/verification/observationsStore.ts";
import { lockUsableVersion } from "../../games/versions/activateVersion.ts";
import { lockLaunches } from "../../saves/playerSlotQueries.ts";
import { recordWebhookEvent } from "../../webhooks/eventQueries.ts";
import { SaveObjectStore } from "../../saves/saveObjectStore.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { DomainError } from "../../errors.ts";
import { buildGameSessionSpec, resourcesFor, saveVolumeBytesFor } from "../launching/buildGameSessionSpec.ts";
import { newGameSessionId } from "../launching/decideLaunch.ts";
import { findClusterContext, type ClusterContext, type GameNeeds } from "../launching/launchQueries.ts";
import { SeatRoom } from "../launching/planSeats.ts";
import { readRunOutput } from "../recording/runOutputs.ts";
import { judge, type VerifiedSession } from "./judge.ts";
import {
  expireVerifications,
  hasOpenVerifications,
  listRunningVerifications,
  lockGameToActivate,
  lockWaitingVerifications,
  updateVerificationJudged,
  updateVerificationStarted,
  updateVerificationWaiting,
  type GameToActivate,
  type RunningVerification,
  type WaitingVerification,
} from "./verificationJobQueries.ts";
import type { Deps } from "../../deps.ts";

type VerificationDeps = SyncGameCachesDeps &
  Pick<
    Deps,
    "clock" | "config" | "cluster" | "gameSessionWriter" | "maintenance" | "audit" | "streamTickets"
  >;

/** Time for the object of a session to appear. */
const appearSeconds = 60;
/** Time for the node agent to store what a finished session has observed. */
const storedMs = 30_000;
/** Least deadlines: nodes get a version for its verification only, and nobody waits for the session. */
const deadlines = { downloadSeconds: 900, startSeconds: 1_200 };
/** The user of these sessions, which is none. */
const verificationUser = "verification";

/** Failures that say something about the game. After others it is tried again. */
const gameFailures: ReadonlySet<string> = new Set(gameFaults);
/** Stops that end a session normally. */
const normalStops: ReadonlySet<string> = new Set([stopReasons.maxDuration, stopReasons.gameExited]);
/** A game of which nothing is declared or measured. */
const ordinaryGame: GameNeeds = {
  declared: {
    memoryMb: null,
    cpuMillicores: null,
    gpuShare: null,
    pictureWidth: null,
    pictureHeight: null,
  },
  profile: { cpuMillicores: null, peakMemoryMb: null, highestMemoryMb: null, memoryFloorMb: null },
};

/**
 * Plays versions that wait for their verification, one at a time and only while a seat stays free for
 * players, and judges those that have been played. A verification is a GameSession without a row, so it
 * counts nowhere as a play. Every step is guarded in the database, so several replicas may do it at once.
 */
export async function serveVerifications(deps: VerificationDeps): Promise<void> {
  const { postgres, logger } = deps;
  if (!(await hasOpenVerifications(postgres.pool))) return;
  if (!deps.cluster.hasSynced) return;
  const running = await listRunningVerifications(postgres.pool);
  for (const verification of running)
    await followRunning(deps, verification).catch((error: unknown) => countError(deps, verification, error));
  if (deps.maintenance.current() !== undefined) return;
  for (const version of await expireVerifications(postgres.pool))
    logger.warn({ version }, "A version could not be verified in time.");
  if (running.length === 0) await startNext(deps);
}

/** Counts an attempt if the session cannot be judged. Outages count nothing: the next pass tries it again. */
async function countError(
  { postgres, cluster, logger }: VerificationDeps,
  verification: RunningVerification,
  error: unknown,
): Promise<void> {
  const { sessionId } = verification;
  logger.warn({ err: error, gameSession: sessionId }, "A verification could not be followed.");
  const session = cluster.gameSession(sessionId);
  const isOutage = error instanceof DomainError && error.code === "unavailable";
  if (isOutage || session === undefined || !isFinished(session)) return;
  await updateVerificationWaiting(postgres.pool, verification, true);
}

/** Starts the first verification that there is room for. */
async function startNext(deps: VerificationDeps): Promise<void> {
  if (deps.config.partner.verify === "never") return;
  const started = await deps.postgres.transaction(async (transaction) => {
    const waiting = await lockWaitingVerifications(transaction);
    if (waiting.length === 0) return undefined;
    const context = await findClusterContext(transaction);
    const next = waiting.find((candidate) => hasRoom(deps, context, buildSpec(deps, candidate)));
    if (next === undefined) return undefined;
    const spec = buildSpec(deps, next);
    const id = newGameSessionId(next.network);
    await updateVerificationStarted(transaction, next.versionId, id);
    return { id, spec, version: next.versionId };
  }, lockLaunches);
  if (started === undefined) return;
  const { id, spec, version } = started;
  // If this fails, the session counts as lost after a minute and the verification waits again.
  await deps.gameSessionWriter.create(id, spec, { isRecorded: false });
  deps.logger.info(
    { gameSession: id, game: spec.gameCacheRef.name, version },
    "A version is being verified.",
  );
}

/**
 * Returns whether a verification may take a seat, or keep it: nobody queues, and nobody plays or there is
 * room for another session of ordinary size.
 */
function hasRoom(
  { cluster, config }: VerificationDeps,
  context: Pick<ClusterContext, "activeSessions" | "unseenSessions" | "queue">,
  spec: GameSessionSpec,
): boolean {
  if (context.queue.length > 0) return false;
  const room = new SeatRoom(cluster, context);
  const isFree = (seat: Parameters<SeatRoom["shortageFor"]>[0]): boolean =>
    room.freeSlots > 0 && room.shortageFor(seat) === undefined;
  if (!isFree(spec)) return false;
  if (context.activeSessions === 0) return true;
  room.take(spec);
  return isFree({
    resources: resourcesFor(ordinaryGame, config.siteResources, config.gameSession.profile),
    saveVolumeBytes: saveVolumeBytesFor(null, { objectKey: null, bytes: null, unpackedBytes: null }),
  });
}

function buildSpec({ config, streamTickets }: VerificationDeps, next: WaitingVerification): GameSessionSpec {
  const { playSeconds } = limits.verification;
  const startDeadlineSeconds = Math.max(config.gameSession.startDeadlineSeconds, deadlines.startSeconds);
  const downloadDeadlineSeconds = Math.max(
    config.gameSession.downloadDeadlineSeconds,
    deadlines.downloadSeconds,
  );
  const spec = buildGameSessionSpec({
    userId: verificationUser,
    slug: next.slug,
    context: next,
    slot: {
      id: slotOf(next.versionId),
      number: 1,
      objectKey: null,
      sha256: null,
      bytes: null,
      unpackedBytes: null,
      generation: 0,
    },
    settings: {
      ...config.gameSession,
      startDeadlineSeconds,
      downloadDeadlineSeconds,
      maxDurationSeconds: playSeconds,
      // Longer than all other deadlines together.
      idleTimeoutSeconds: startDeadlineSeconds + downloadDeadlineSeconds + 2 * playSeconds,
    },
    siteResources: config.siteResources,
    quality: {},
    ticketPublicKey: streamTickets.publicKey,
  });
  return { ...spec, purpose: "Verification" };
}

/** A slot that no player has. Its saves are removed after the verdict. */
const slotOf = (versionId: string): string => `verification-${versionId}`.slice(0, 64);

async function followRunning(deps: VerificationDeps, verification: RunningVerification): Promise<void> {
  const { postgres, cluster, gameSessionWriter, logger } = deps;
  const { sessionId, ageSeconds } = verification;
  const session = cluster.gameSession(sessionId);
  if (session === undefined) {
    if (ageSeconds < appearSeconds || (await gameSessionWriter.find(sessionId)) !== undefined) return;
    logger.warn({ gameSession: sessionId }, "The session of a verification is gone.");
    return updateVerificationWaiting(postgres.pool, verification, true);
  }
  if (isFinished(session)) return judgeFinished(deps, verification, session);
  const isOverdue = ageSeconds > session.spec.idleTimeoutSeconds;
  if (!isOverdue && hasRoom(deps, await findClusterContext(postgres.pool), session.spec)) return;
  logger.info({ gameSession: sessionId }, "A verification gives way to players.");
  await gameSessionWriter.requestStop(sessionId, stopReasons.deleted);
  await updateVerificationWaiting(postgres.pool, verification, isOverdue);
}

async function judgeFinished(
  deps: VerificationDeps,
  verification: RunningVerification,
  session: Stored<GameSession>,
): Promise<void> {
  const { postgres, objectStore, clock, logger } = deps;
  const { sessionId } = verification;
  const observed = await readObservations(objectStore, sessionId);
  const { finishedAt, failure, stopReason, save } = session.status ?? {};
  if (observed === undefined && clock.now().getTime() - Date.parse(finishedAt ?? "") < storedMs) return;
  const isAboutGame =
    failure === undefined
      ? observed?.game?.state !== undefined && normalStops.has(stopReason ?? "")
      : gameFailures.has(failure.reason);
  if (!isAboutGame) {
    logger.warn({ gameSession: sessionId, stopReason, failure }, "A verification ended without a verdict.");
    return updateVerificationWaiting(postgres.pool, verification, true);
  }
  const output = await readRunOutput(objectStore, sessionId);
  const verified: VerifiedSession = {
    observed,
    log: printableText(output ?? ""),
    failureReason: failure?.reason,
    save,
    hasSaveFailed: hasSaveFailed(session),
  };
  const { verdict, ...stored } = judge(verified);
  const isActivated = await postgres.transaction(async (transaction) => {
    const { gameId, versionId } = verification;
    // The game first and then its verification, like an upload; the reverse order would deadlock.
    const game = await lockGameToActivate(transaction, gameId);
    const judged = await updateVerificationJudged(transaction, verification, verdict, stored);
    if (judged === undefined) return false;
    const findings = stored.findings.map(({ code }) => code);
    await recordWebhookEvent(transaction, gameId, {
      type: "version.verified",
      data: { gameVersionId: versionId, verdict, findings },
    });
    if (verdict === "bad" || !judged.isRequired || game === undefined) return false;
    return activate(transaction, game, versionId);
  });
  logger.info({ gameSession: sessionId, game: verification.slug, verdict }, "A version was verified.");
  await removeSaves(deps, verification);
  if (isActivated) await announceActivation(deps, verification);
}

/** Returns whether what the game saved cannot be kept. Failures of the platform say nothing about it. */
function hasSaveFailed({ status }: GameSession): boolean {
  const reason = findCondition(status?.conditions, "SavePersisted")?.reason ?? "";
  const { saveTooLarge, saveMissing, saveUnreadable, spoolUnreadable } = saveReasons;
  return [saveTooLarge, saveMissing, saveUnreadable, spoolUnreadable].some((bad) => bad === reason);
}

/** Makes a version current that waited for its verdict. Returns false if it is already. */
async function activate(transaction: Queryable, game: GameToActivate, versionId: string): Promise<boolean> {
  await clearRequirement(transaction, game.id, versionId);
  if (game.currentVersionId === versionId) return false;
  await lockUsableVersion(transaction, game, versionId);
  await updateCurrentVersion(transaction, game.id, versionId);
  return true;
}

async function announceActivation(
  deps: VerificationDeps,
  { gameId, versionId, slug }: RunningVerification,
): Promise<void> {
  await deps.audit.record({
    action: "game.versionActivated",
    actor: { kind: "operator" },
    subject: { kind: "game", id: gameId },
    details: { version: versionId, isVerified: true },
  });
  // If this fails, the leader's next pass does it.
  await syncGameCache(deps, gameId).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, game: slug },
      "The API could not update a game's GameCache yet; it will retry.",
    );
  });
}

/** Removes what the game saved. Best effort: nothing reads it, and the next verification removes it too. */
async function removeSaves(
  { objectStore, logger }: VerificationDeps,
  { versionId }: RunningVerification,
): Promise<void> {
  const saves = new SaveObjectStore(objectStore);
  try {
    await saves.remove((await saves.list(slotOf(versionId))).map(({ key }) => key));
  } catch (error) {
    logger.warn({ err: error, version: versionId }, "The saves of a verification could not be removed.");
  }
}
