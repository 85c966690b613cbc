import { leaderLeases } from "#contracts/crd/names.ts";
import { LeaderElector } from "#kube/controllers/leaderElector.ts";
import { repeat, type BackgroundJob } from "#runtime/scheduling/backgroundJob.ts";
import { listUnrecordedGameSessions } from "../gameSessions/recording/lifecycleQueries.ts";
import { serveQueue } from "../gameSessions/queue/serveQueue.ts";
import { serveVerifications } from "../gameSessions/verification/serveVerifications.ts";
import { Recorder } from "../gameSessions/recording/recorder.ts";
import { freePlayers, refusedSlotMaxMs, releaseSlots } from "../gameSessions/recording/releaseSlots.ts";
import { sweepRunOutputs } from "../gameSessions/recording/runOutputs.ts";
import { relayGameSessions } from "../gameSessions/recording/relay.ts";
import { sweepIdle, sweepOverlong } from "../gameSessions/sessions/stopIdleSessions.ts";
import { sweepVersions } from "../games/sweepVersions.ts";
import { DistributionAnnouncer } from "../games/versions/announceDistribution.ts";
import { syncGameCaches, LostGameCaches } from "../games/syncGameCaches.ts";
import { scrubSaves, reportUnreadableSaves } from "../saves/scrubSaves.ts";
import { sweepSaves } from "../saves/sweepSaves.ts";
import { sweepResumableUploads } from "../games/resumable/endUpload.ts";
import { startLeftChecks } from "../games/resumable/uploadChecks.ts";
import { sweepUploads } from "../games/upload/uploadLease.ts";
import { sweepPictures } from "../games/pictures/storePicture.ts";
import { sweepIdempotencyKeys } from "../http/idempotencyQueries.ts";
import { sweepAuthSessions } from "../auth/authSessions.ts";
import { sweepAccountLinks } from "../accounts/links/accountLinks.ts";
import { sweepDeletions } from "../accounts/profile/changeProfile.ts";
import { resealWebhookSecrets, sweepDeliveries } from "../webhooks/sweepWebhooks.ts";
import { RefusedRows } from "../stores/sweepRows.ts";
import type { Deps } from "../deps.ts";

/** Options of the leader's work. */
export interface LeaderWorkOptions {
  /** Intervals between passes, in milliseconds. */
  intervals?: Partial<typeof defaultIntervals>;
  /** Timing of the election; defaults to that of LeaderElector. */
  election?: { leaseDurationMs: number; renewDeadlineMs: number; retryPeriodMs: number };
}

const defaultIntervals = {
  relay: 2_000,
  queue: 1_000,
  idle: 5_000,
  active: 10_000,
  remains: 60_000,
  outputs: 3_600_000,
};

/**
 * The background work of the leading replica: recording, relaying, sweeping. The election only avoids
 * duplicate work. Every step is guarded in the database, so a stale leader does no harm, and losing the lease
 * (for example while the Kubernetes API is unavailable) does not affect requests.
 */
export class LeaderWork implements BackgroundJob {
  readonly #deps: Deps;
  readonly #election: LeaderWorkOptions["election"];
  readonly #intervals: typeof defaultIntervals;
  readonly #stopping = new AbortController();
  #elector: LeaderElector | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: Deps, { intervals, election }: LeaderWorkOptions = {}) {
    this.#deps = deps;
    this.#election = election;
    this.#intervals = { ...defaultIntervals, ...intervals };
  }

  /** Whether this process is the leader. */
  get isLeader(): boolean {
    return this.#elector?.isLeader ?? false;
  }

  /** Runs for election repeatedly until stopped. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the current work and releases the lease. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const term = new AbortController();
      const elector = this.#createElector(() => term.abort());
      this.#elector = elector;
      const stop = (): void => {
        term.abort();
        void elector.stop();
      };
      this.#stopping.signal.addEventListener("abort", stop, { once: true });
      const isElected = await elector.start().then(
        () => true,
        () => false,
      );
      if (isElected) await this.#lead(term.signal);
      this.#stopping.signal.removeEventListener("abort", stop);
      await elector.stop();
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const deps = this.#deps;
    const recorder = new Recorder(deps, deps.config.cluster.sessionsNamespace);
    const lostGameCaches = new LostGameCaches(deps);
    const distributions = new DistributionAnnouncer(deps);
    const [refused, refusedSlots] = [
      new RefusedRows(deps.clock),
      new RefusedRows(deps.clock, refusedSlotMaxMs),
    ];
    try {
      await recorder.start(signal);
      const { relay, queue, idle, active, remains, outputs } = this.#intervals;
      const { clock, logger } = deps;
      const repeated = (name: string, periodMs: number, work: () => Promise<void>): Promise<void> =>
        repeat({ name, periodMs, jitter: 0.5, clock, logger, work }, signal);
      await Promise.all([
        repeated("relay", relay, () => relayGameSessions(deps)),
        repeated("lost caches", relay, () => lostGameCaches.pass()),
        repeated("caches", relay, () => syncGameCaches(deps)),
        repeated("distributions", relay, () => distributions.pass()),
        repeated("queue", queue, () => serveQueue(deps)),
        repeated("verifications", queue, () => serveVerifications(deps)),
        repeated("idle", idle, async () => recorder.enqueue(await sweepIdle(deps))),
        repeated("overlong", remains, async () => recorder.enqueue(await sweepOverlong(deps))),
        repeated("slow stops", idle, () => freePlayers(deps)),
        repeated("slots", idle, async () => recorder.enqueue(await releaseSlots(deps, refusedSlots))),
        repeated("active", active, async () =>
          recorder.enqueueUnsettled(await listUnrecordedGameSessions(deps.postgres.pool)),
        ),
        repeated("uploads", remains, () => sweepUploads(deps, refused)),
        repeated("uploads in chunks", remains, () => sweepResumableUploads(deps, refused)),
        repeated("upload checks", active, () => startLeftChecks(deps)),
        repeated("versions", remains, () => sweepVersions(deps, refused)),
        repeated("pictures", remains, () => sweepPictures(deps, refused)),
        repeated("saves", remains, () => sweepSaves(deps, undefined, refused)),
        repeated("outputs", outputs, () => sweepRunOutputs(deps)),
        repeated("save checks", remains, () => scrubSaves(deps, signal)),
        repeated("unreadable saves", remains, () => reportUnreadableSaves(deps)),
        repeated("idempotency keys", remains, () => sweepIdempotencyKeys(deps)),
        repeated("sign-ins", remains, () => sweepAuthSessions(deps)),
        repeated("deleted accounts", remains, () => sweepDeletions(deps)),
        repeated("account links", remains, () => sweepAccountLinks(deps)),
        repeated("webhook deliveries", remains, () => sweepDeliveries(deps)),
        repeated("webhook secrets", remains, () => resealWebhookSecrets(deps)),
      ]);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      lostGameCaches.stop();
      distributions.stop();
      // The next leader reports it.
      deps.metrics.setUnreadableSaves(0);
      await recorder.stop();
    }
  }

  #createElector(onLost: () => void): LeaderElector {
    const { config, logger, clock, kube: transport } = this.#deps;
    return new LeaderElector({
      transport,
      namespace: config.cluster.releaseNamespace,
      name: leaderLeases.api,
      identity: config.cluster.identity,
      onLost,
      logger,
      clock,
      ...this.#election,
    });
  }
}
