import { createHmac, randomBytes } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { unavailable } from "../errors.ts";
import type { PasswordResult, PasswordTask } from "./passwordWorker.ts";
import { tooManySignIns } from "./signInTurns.ts";

/** Parameters of password hashing. */
interface PasswordsOptions {
  pepper: string;
  cost: number;
  workers: number;
  /** Called with the rounds of bcrypt that a check or a new hash took. */
  onRounds?: (rounds: number) => void;
}

/**
 * Result of a check. `shouldRehash` is true when the stored hash is imported or has another cost than new
 * ones.
 */
interface PasswordCheck {
  isEqual: boolean;
  shouldRehash: boolean;
}

/** Creates and checks password hashes in worker threads. */
export class Passwords {
  readonly #pool: PasswordPool;
  readonly #pepper: string;
  readonly #cost: number;
  readonly #onRounds: (rounds: number) => void;
  #dummyHash: Promise<string> | undefined;

  constructor({ pepper, cost, workers, onRounds = () => undefined }: PasswordsOptions) {
    this.#pepper = pepper;
    this.#cost = cost;
    this.#onRounds = onRounds;
    this.#pool = new PasswordPool({ workers, queueMax: limits.auth.passwordQueue });
  }

  /** The number of tasks that wait for a thread. */
  get queued(): number {
    return this.#pool.queued;
  }

  /**
   * Returns a hash to store.
   *
   * @throws unavailable when too many tasks wait
   */
  async hash(password: string): Promise<string> {
    const result = await this.#run({ secret: this.#prepare(password), cost: this.#cost });
    if (!("hash" in result)) throw new Error("The password thread returned the result of another task.");
    return result.hash;
  }

  /**
   * Compares a password with the stored hash. Without a hash it compares with a dummy, so the result takes
   * equally long.
   *
   * @throws unavailable when too many tasks wait
   */
  async check(password: string, storedHash: string | null): Promise<PasswordCheck> {
    const { hash, cost, isImported } = readStoredHash(storedHash ?? (await this.#dummy()));
    const secret = isImported ? password : this.#prepare(password);
    const result = await this.#run({ secret, hash, cost, likeCost: this.#cost });
    if (!("isEqual" in result)) throw new Error("The password thread returned the result of another task.");
    const isEqual = result.isEqual && storedHash !== null && (!isImported || isReadWhole(password));
    return { isEqual, shouldRehash: isEqual && (isImported || cost !== this.#cost) };
  }

  /** Computes the dummy hash, so that the first sign-in of an unknown user is as quick as the others. */
  async warmUp(): Promise<void> {
    await this.#dummy();
  }

  /** Ends the threads; waiting tasks fail with unavailable. */
  async close(): Promise<void> {
    await this.#pool.close();
  }

  async #run(task: WithoutId<PasswordTask>): Promise<Settlement> {
    const result = await this.#pool.run(task);
    this.#onRounds(result.rounds);
    return result;
  }

  /**
   * Returns the input for bcrypt. bcrypt reads 72 bytes and stops at a NUL, so it gets a digest of fixed
   * length instead of the password.
   */
  #prepare(password: string): string {
    return createHmac("sha256", this.#pepper).update(password).digest("base64");
  }

  #dummy(): Promise<string> {
    this.#dummyHash ??= this.hash(randomBytes(32).toString("hex")).catch((error: unknown) => {
      this.#dummyHash = undefined;
      throw error;
    });
    return this.#dummyHash;
  }
}

/** A stored password hash: ours hash a digest with the pepper, imported ones hash the plain password. */
interface StoredHash {
  /** In bcrypt's format. */
  hash: string;
  cost: number;
  isImported: boolean;
}

const mark = "imported:";
const shape = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const plainBytesMax = 72;

/** Returns the stored form of another platform's hash; undefined if it is not a bcrypt hash. */
export function importedHash(hash: string): { stored: string; cost: number } | undefined {
  const cost = costOf(hash);
  return Number.isNaN(cost) ? undefined : { stored: mark + hash, cost };
}

/** Parses a stored hash; the cost is NaN if it is not a bcrypt hash. */
function readStoredHash(stored: string): StoredHash {
  const isImported = stored.startsWith(mark);
  const hash = isImported ? stored.slice(mark.length) : stored;
  return { hash, cost: costOf(hash), isImported };
}

function costOf(hash: string): number {
  return Number(shape.exec(hash)?.[1]);
}

/**
 * Returns whether plain bcrypt distinguishes this password from every other one: it reads 72 bytes and treats
 * `a` and `a\0a` as equal.
 */
function isReadWhole(password: string): boolean {
  return Buffer.byteLength(password) <= plainBytesMax && !password.includes("\0");
}

type WithoutId<Task> = Task extends unknown ? Omit<Task, "id"> : never;
type Settlement = Exclude<PasswordResult, { error: string }>;

interface Job {
  task: PasswordTask;
  resolve: (result: Settlement) => void;
  reject: (error: Error) => void;
}

interface WorkerSlot {
  /**
   * Undefined after a thread ended, until the next task, so a thread that cannot start is not restarted in a
   * loop.
   */
  worker: Worker | undefined;
  job: Job | undefined;
}

/** Threads that run bcrypt, one task each at a time. */
class PasswordPool {
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
   * Returns the result of a task.
   *
   * @throws unavailable when too many tasks wait, or when the thread ends before it
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
    // The worker's file is next to this one, both in the source and in the bundle.
    const worker = new Worker(new URL(`passwordWorker${extname(import.meta.filename)}`, import.meta.url));
    worker.unref();
    worker.on("message", (result: PasswordResult) => this.#settle(slot, result));
    worker.on("error", (error: Error) => slot.job?.reject(error));
    worker.on("exit", () => {
      slot.job?.reject(unavailable("The password could not be checked. Try again."));
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
