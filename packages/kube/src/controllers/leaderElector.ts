import { type Lease, leases } from "../api/builtin.ts";
import { jittered } from "#runtime/scheduling/backOff.ts";
import { type Clock, sleepUntilAborted, systemClock } from "#runtime/scheduling/clock.ts";
import { toApiMicroTime, type Stored } from "../api/object.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../api/errors.ts";
import { type Logger, silentLogger } from "#runtime/logger.ts";
import { ResourceClient } from "../client/resourceClient.ts";
import type { KubeTransport } from "../client/transport.ts";

export interface LeaderElectorOptions {
  transport: KubeTransport;
  /** Namespace and name of the Lease. */
  namespace: string;
  name: string;
  /** Unique identity of the process, for example the pod's name. */
  identity: string;
  /** Time that other candidates wait after the last renewal they saw. Defaults to 6 s. */
  leaseDurationMs?: number | undefined;
  /**
   * Time after which a leader that cannot renew has lost. Shorter than the lease duration. Defaults to 4.2 s.
   */
  renewDeadlineMs?: number | undefined;
  /** Interval between renewals of a leader; others check twice as often. Defaults to 0.9 s. */
  retryPeriodMs?: number | undefined;
  /** Called once when leadership is lost without stop(). Do not write anything afterwards, even late. */
  onLost: (reason: string) => void;
  logger?: Logger | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
}

/** Deadline of a request, and the signal that aborts it. */
interface RequestCall {
  deadlineMs: number;
  signal: AbortSignal;
}

/** Number of consecutive requests that may hang within the renew deadline. */
const requestsWithinDeadline = 3;

/**
 * Elects one of several processes by a Lease. Whether another's lease has ended is decided by how long its
 * content has not changed on the local clock, so clocks may differ; every write is bound to the version that
 * was read.
 */
export class LeaderElector {
  readonly identity: string;
  readonly #options: LeaderElectorOptions;
  readonly #client: ResourceClient<Lease>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #logger: Logger;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  readonly #elected = Promise.withResolvers<undefined>();
  readonly #stopping = new AbortController();
  #observed: { lease: Stored<Lease>; sinceMs: number } | undefined;
  #renewedMs = 0;
  #isLeader = false;
  /** Whether this process has claimed the lease and has not seen another holder since. */
  #mayHold = false;
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.identity = options.identity;
    this.#client = new ResourceClient(options.transport, leases);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#logger = (options.logger ?? silentLogger).child({
      lease: `${options.namespace}/${options.name}`,
      identity: options.identity,
    });
    this.#leaseDurationMs = options.leaseDurationMs ?? 6_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 4_200;
    this.#retryPeriodMs = options.retryPeriodMs ?? 900;
    if (
      this.#renewDeadlineMs >= this.#leaseDurationMs ||
      this.#retryPeriodMs * 1.5 >= this.#renewDeadlineMs
    ) {
      throw new Error("Leader election needs retryPeriodMs * 1.5 < renewDeadlineMs < leaseDurationMs.");
    }
  }

  /** Whether this process leads: it holds the lease and renewed it within the renew deadline. */
  get isLeader(): boolean {
    return this.#isLeader && this.#clock.monotonicMs() - this.#renewedMs < this.#renewDeadlineMs;
  }

  /** Number of lease transitions: a fencing token that grows with each leader. Undefined when not leading. */
  get transitions(): number | undefined {
    return this.isLeader ? (this.#observed?.lease.spec?.leaseTransitions ?? 0) : undefined;
  }

  /** Starts the election. Resolves when this process becomes leader; rejects when stopped first. */
  async start(): Promise<void> {
    this.#running ??= this.#run();
    await this.#elected.promise;
  }

  /**
   * Stops and releases a held lease, so that another process can lead within a retry period. Stopping twice
   * has no effect.
   */
  async stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    await this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    this.#elected.promise.catch(() => undefined);
    this.#elected.reject(new Error("Leader election was stopped before it was won."));
    await this.#running;
    if (this.#mayHold) await this.#release();
    this.#isLeader = false;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await this.#tryOnce(signal);
      if (this.#hasLost()) return;
      if (
        !(await sleepUntilAborted(
          this.#clock,
          this.#isLeader ? this.#retryPeriodMs : this.#lookAgainInMs(),
          signal,
        ))
      )
        return;
      // If this process was frozen, another one may lead by now. It must then stop leading without waiting
      // for its next request.
      if (
        this.#isLeader &&
        this.#clock.monotonicMs() - this.#renewedMs >= this.#leaseDurationMs &&
        this.#hasLost()
      )
        return;
    }
  }

  #hasLost(): boolean {
    const reason = this.#isLeader && !this.#stopping.signal.aborted ? this.#whyLost() : undefined;
    if (reason !== undefined) this.#lose(reason);
    return reason !== undefined;
  }

  #whyLost(): string | undefined {
    if (!this.isLeader) return "The lease could not be renewed in time.";
    if (this.#observed === undefined || !this.#isOurs(this.#observed.lease))
      return "The lease was taken by another process, or deleted.";
    return undefined;
  }

  async #tryOnce(signal: AbortSignal): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    try {
      const lease = await this.#takeOrRenew({ deadlineMs: this.#requestDeadlineMs(startedMs), signal });
      if (!lease) return;
      this.#observe(lease);
      // Counted from the start of the request, because the server may have written at any time since.
      this.#renewedMs = startedMs;
      if (this.#isLeader) return;
      this.#isLeader = true;
      this.#logger.info({ transitions: this.transitions }, "This process became the leader.");
      this.#elected.resolve(undefined);
    } catch (error) {
      if (signal.aborted) return;
      this.#logger.warn({ err: error }, "The lease could not be read or written.");
    }
  }

  /**
   * Each request has a deadline. If it hangs on a dead connection, time must remain for another request
   * within the renew deadline. A renewal that outlives the renew deadline is useless.
   */
  #requestDeadlineMs(startedMs: number): number {
    const shareMs = this.#renewDeadlineMs / requestsWithinDeadline;
    if (!this.#isLeader) return shareMs;
    return Math.max(1, Math.min(shareMs, this.#renewDeadlineMs - (startedMs - this.#renewedMs)));
  }

  /** Returns the lease as written; undefined if another process holds it or was faster. */
  async #takeOrRenew(call: RequestCall): Promise<Stored<Lease> | undefined> {
    const { namespace, name } = this.#options;
    try {
      // A leader bases each write on its last one and reads again only after a conflict, so a renewal takes
      // one request.
      const current =
        this.#isLeader && this.#observed
          ? this.#observed.lease
          : await this.#client.find({ namespace, name }, call);
      if (!current) {
        return await this.#write(call, (claim) =>
          this.#client.create({ metadata: { namespace, name }, spec: this.#claim(undefined) }, claim),
        );
      }
      this.#observe(current);
      this.#mayHold = this.#isOurs(current);
      if (this.#isHeldByAnother(current)) return undefined;
      return await this.#write(call, (claim) =>
        this.#client.replace({ ...current, spec: this.#claim(current) }, claim),
      );
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
      const current = await this.#client.find({ namespace, name }, call);
      this.#mayHold = current !== undefined && this.#isOurs(current);
      if (current) this.#observe(current);
      else this.#observed = undefined;
      return undefined;
    }
  }

  /**
   * Waits for the response to a first claim even if this process stops. Otherwise the claim could succeed
   * later without anyone to release the lease. A renewal is not awaited: it and the release are bound to the
   * same version, so only the first one succeeds.
   */
  #write<T>(
    { deadlineMs, signal }: RequestCall,
    write: (call: Partial<RequestCall>) => Promise<T>,
  ): Promise<T> {
    this.#mayHold = true;
    return write(this.#isLeader ? { deadlineMs, signal } : { deadlineMs });
  }

  #claim(current: Stored<Lease> | undefined): NonNullable<Lease["spec"]> {
    const now = toApiMicroTime(this.#clock.now());
    const isOurs = current !== undefined && this.#isOurs(current);
    const transitions = current?.spec?.leaseTransitions ?? 0;
    return {
      ...current?.spec,
      holderIdentity: this.identity,
      leaseDurationSeconds: Math.ceil(this.#leaseDurationMs / 1000),
      acquireTime: isOurs ? (current.spec?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: isOurs || current === undefined ? transitions : transitions + 1,
    };
  }

  #observe(lease: Stored<Lease>): void {
    if (this.#observed?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return;
    this.#observed = { lease, sinceMs: this.#clock.monotonicMs() };
  }

  #isOurs({ spec }: Lease): boolean {
    return spec?.holderIdentity === this.identity;
  }

  #isHeldByAnother(lease: Stored<Lease>): boolean {
    const holder = lease.spec?.holderIdentity ?? "";
    if (holder === "" || holder === this.identity) return false;
    return this.#leftMs({ lease, sinceMs: this.#observed?.sinceMs ?? 0 }) > 0;
  }

  /**
   * A standby only knows what it has read. It therefore checks twice per renewal interval, to find a released
   * lease, and also when another process's lease expires.
   */
  #lookAgainInMs(): number {
    const pauseMs = jittered(this.#retryPeriodMs / 2, this.#random);
    const leftMs = this.#observed === undefined ? 0 : this.#leftMs(this.#observed);
    return leftMs > 0 ? Math.min(pauseMs, leftMs) : pauseMs;
  }

  /** Returns the remaining time of another process's lease, as far as it was observed. */
  #leftMs({ lease, sinceMs }: { lease: Stored<Lease>; sinceMs: number }): number {
    // The holder's duration counts, because its configuration may differ from ours.
    const durationMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000 || this.#leaseDurationMs;
    return durationMs - (this.#clock.monotonicMs() - sinceMs);
  }

  #lose(reason: string): void {
    this.#isLeader = false;
    this.#mayHold = false;
    this.#logger.error({ reason }, "Leadership was lost.");
    this.#options.onLost(reason);
  }

  async #release(): Promise<void> {
    const endsAtMs = this.#clock.monotonicMs() + this.#renewDeadlineMs;
    for (let triesLeft = requestsWithinDeadline; triesLeft > 0; triesLeft--) {
      try {
        // A hanging request leaves time for another one.
        await this.#tryRelease(() => ({
          deadlineMs: Math.max(
            1,
            Math.min(this.#renewDeadlineMs / requestsWithinDeadline, endsAtMs - this.#clock.monotonicMs()),
          ),
        }));
        return;
      } catch (error) {
        // An in-flight renewal may have succeeded on the server without a response. The release must then use
        // a later version.
        this.#observed = undefined;
        if (triesLeft === 1)
          this.#logger.warn({ err: error }, "The lease could not be released. It will expire.");
      }
    }
  }

  async #tryRelease(call: () => { deadlineMs: number }): Promise<void> {
    const { namespace, name } = this.#options;
    const known = this.#observed?.lease;
    const lease =
      known !== undefined && this.#isOurs(known)
        ? known
        : await this.#client.find({ namespace, name }, call());
    if (lease === undefined || !this.#isOurs(lease)) return;
    // A lease without a holder may be taken immediately. The API requires a duration of at least 1 s.
    await this.#client.replace(
      { ...lease, spec: { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 } },
      call(),
    );
    this.#logger.info({}, "The lease was released.");
  }
}
