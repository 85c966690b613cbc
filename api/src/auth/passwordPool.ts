import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { unavailable } from "../errors.ts";
import type { PasswordResult, PasswordTask } from "./passwordWorker.ts";
import { tooManySignIns } from "./signInQueue.ts";

type WithoutId<Task> = Task extends unknown ? Omit<Task, "id"> : never;
type Settlement = Exclude<PasswordResult, { error: string }>;

interface Job {
  task: PasswordTask;
  resolve: (result: Settlement) => void;
  reject: (error: Error) => void;
}

interface WorkerSlot {
  /**
   * Undefined after a thread ended by itself, until there is a task: a thread that cannot start is not
   * restarted in a loop.
   */
  worker: Worker | undefined;
  job: Job | undefined;
}

/** Threads that run bcrypt, one task each at a time. */
export class PasswordPool {
  readonly #slots: WorkerSlot[];
  readonly #queue: Job[] = [];
  readonly #queueMax: number;
  #nextId = 1;
  #isClosed = false;

  constructor({ workers, queueMax }: { workers: number; queueMax: number }) {
    this.#queueMax = queueMax;
    this.#slots = Array.from({ length: workers }, () => this.#createSlot());
  }

  /** The number of tasks that wait for a thread. */
  get queued(): number {
    return this.#queue.length;
  }

  /**
   * Returns the result of a task. Throws unavailable when too many wait, or when the thread ends before it.
   */
  run(task: WithoutId<PasswordTask>): Promise<Settlement> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed || this.#queue.length >= this.#queueMax) {
        reject(tooManySignIns());
        return;
      }
      this.#queue.push({ task: { ...task, id: this.#nextId++ }, resolve, reject });
      this.#dispatch();
    });
  }

  /** Ends the threads; waiting tasks fail with unavailable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#queue.splice(0)) job.reject(unavailable("The server is stopping."));
    await Promise.all(this.#slots.flatMap(({ worker }) => worker?.terminate() ?? []));
  }

  #createSlot(): WorkerSlot {
    const slot: WorkerSlot = { worker: undefined, job: undefined };
    slot.worker = this.#createWorker(slot);
    return slot;
  }

  #createWorker(slot: WorkerSlot): Worker {
    // The worker's file lies beside this one, as source and in the bundle.
    const worker = new Worker(new URL(`passwordWorker${extname(import.meta.filename)}`, import.meta.url));
    worker.unref();
    worker.on("message", (result: PasswordResult) => this.#settle(slot, result));
    worker.on("error", (error: Error) => slot.job?.reject(error));
    worker.on("exit", () => {
      slot.job?.reject(unavailable("The password check broke off: try again."));
      slot.job = undefined;
      slot.worker = undefined;
      if (!this.#isClosed) this.#dispatch();
    });
    return worker;
  }

  #settle(slot: WorkerSlot, result: PasswordResult): void {
    const job = slot.job;
    slot.job = undefined;
    if ("error" in result) job?.reject(new Error(`bcrypt failed: ${result.error}`));
    else job?.resolve(result);
    this.#dispatch();
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      if (slot.job !== undefined) continue;
      const job = this.#queue.shift();
      if (job === undefined) return;
      slot.job = job;
      slot.worker ??= this.#createWorker(slot);
      slot.worker.postMessage(job.task);
    }
  }
}
