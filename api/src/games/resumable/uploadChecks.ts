import { listUncheckedUploads } from "./resumableQueries.ts";
import { checkUpload, type CheckUploadDeps } from "./checkUpload.ts";

/** Uploads that one pass takes on. */
const uploadsPerPass = 8;

/** The checks of complete uploads that run in this process, after the response to the last chunk. */
export class UploadChecks {
  readonly #running = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  /** Starts the check of an upload, unless this process already runs it. Its errors are logged. */
  start(deps: CheckUploadDeps, id: string): void {
    if (this.#stopping.signal.aborted || this.#running.has(id)) return;
    const check = checkUpload(deps, id, this.#stopping.signal)
      .catch((error: unknown) =>
        deps.logger.warn({ err: error, upload: id }, "The API could not check an upload yet; it will retry."),
      )
      .finally(() => this.#running.delete(id));
    this.#running.set(id, check);
  }

  /** Leaves running checks to another process. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running.values());
  }
}

/** Starts the checks that a stopped or failed process has left. */
export async function startLeftChecks(deps: CheckUploadDeps & { uploadChecks: UploadChecks }): Promise<void> {
  for (const id of await listUncheckedUploads(deps.postgres.pool, uploadsPerPass))
    deps.uploadChecks.start(deps, id);
}
