import { clockInStepReasons } from "#contracts/crd/reasons.ts";
import { limits } from "#contracts/limits.ts";
import type { ConditionUpdate } from "#kube/api/conditions.ts";
import { slept, type Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { DeadlineExceeded, withTimeout } from "#runtime/scheduling/deadline.ts";
import { checkRoot, unansweredRoot } from "./rootChecks.ts";

/** A disk that is only busy has answered by then. */
const patienceMs = 60_000;

/** What the checks work with. */
export interface NodeChecksOptions {
  root: string;
  intervalMs: number;
  /**
   * By how much this machine's clock differs from the API server's; undefined before that has told the time.
   */
  clockOffsetMs: () => number | undefined;
  /** Removes what the node can do without, for want of space; returns whether there was anything. */
  makeSpace: () => Promise<boolean>;
  clock: Clock;
  logger: Logger;
  /** Called when a check came out otherwise than before. */
  onChange: () => void;
}

/**
 * Proves again and again what only the node itself can prove: that games can be kept, started and saved
 * there, and that its clock is right.
 */
export class NodeChecks {
  readonly #options: NodeChecksOptions;
  readonly #stopping = new AbortController();
  #ofRoot: readonly ConditionUpdate[] = [];
  /** What was found the last time, by the condition's type. */
  #known = new Map<string, ConditionUpdate["status"]>();
  #running: Promise<void> | undefined;
  /** Of the folder. A disk that does not answer keeps it waiting: until it has ended there is no other. */
  #checking: Promise<ConditionUpdate[]> | undefined;

  constructor(options: NodeChecksOptions) {
    this.#options = options;
  }

  /** Resolves when everything was checked for the first time; goes on until it is stopped. */
  async start(): Promise<void> {
    await this.#look();
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Returns what was found, as conditions of the GameNode. */
  findings(): ConditionUpdate[] {
    return [...this.#ofRoot, clockFinding(this.#options.clockOffsetMs())];
  }

  async #run(): Promise<void> {
    while (await slept(this.#options.clock, this.#options.intervalMs, this.#stopping.signal))
      await this.#look();
  }

  async #look(): Promise<void> {
    const { root, logger, onChange } = this.#options;
    try {
      this.#ofRoot = await this.#checkRoot();
    } catch (error) {
      logger.warn(
        { err: error, root },
        "The folder of games and saves could not be checked; it is tried again.",
      );
    }
    const isFirst = this.#known.size === 0;
    const changed = this.findings().filter(({ type, status }) => this.#known.get(type) !== status);
    for (const { type, status, message } of changed) {
      this.#known.set(type, status);
      if (status === "False")
        logger.warn(
          { check: type, reason: message },
          "A check of the node fails: it takes no sessions until that is repaired.",
        );
    }
    if (!isFirst && changed.length > 0) onChange();
  }

  /** A node that has games to give up does so before it says that it has no space for saves. */
  async #checkRoot(): Promise<ConditionUpdate[]> {
    const { root, makeSpace } = this.#options;
    const hadSpace = this.#known.get("SpaceLeft") !== "False";
    const found = await this.#answered(root, hadSpace);
    const isShort = found.some(({ type, status }) => type === "SpaceLeft" && status === "False");
    return isShort && (await makeSpace()) ? this.#answered(root, hadSpace) : found;
  }

  async #answered(root: string, hadSpace: boolean): Promise<ConditionUpdate[]> {
    this.#checking ??= checkRoot(root, hadSpace).finally(() => (this.#checking = undefined));
    try {
      return await withTimeout(this.#checking, patienceMs, `The check of ${root}`, this.#options.clock);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      return unansweredRoot(root, patienceMs);
    }
  }
}

function clockFinding(offsetMs: number | undefined): ConditionUpdate {
  const type = "ClockInStep";
  if (offsetMs === undefined)
    return {
      type,
      status: "Unknown",
      reason: clockInStepReasons.notCompared,
      message: "The API server has not told the time yet.",
    };
  const { clockToleranceSeconds: tolerance } = limits.node;
  if (Math.abs(offsetMs) <= tolerance * 1000)
    return {
      type,
      status: "True",
      reason: clockInStepReasons.inStep,
      message: "The node's clock agrees with the API server's.",
    };
  const message = `The node's clock is more than ${tolerance} s ${offsetMs > 0 ? "ahead of" : "behind"} the API server's, so the object store would refuse its requests. Run a time service there, such as chrony.`;
  return { type, status: "False", reason: clockInStepReasons.outOfStep, message };
}
