/** A running download. */
export interface Download {
  digest: string;
  /** Whether a session waits for it. */
  isForLaunch: boolean;
  progressPercent: number;
  /** Bytes reserved on the disk. */
  reservedBytes: number;
  /** Reserved bytes written so far. */
  writtenBytes: number;
  /** Aborted when the version is no longer wanted. */
  abandoning: AbortController;
  ended: Promise<void>;
}

/**
 * The running downloads. An abandoned download is no longer included, although its bytes stay on the disk
 * until it has ended.
 */
export class Downloads {
  readonly #running = new Map<string, Download>();
  readonly #abandoned = new Set<Download>();

  get(digest: string): Download | undefined {
    return this.#running.get(digest);
  }

  list(): Download[] {
    return [...this.#running.values()];
  }

  /** Bytes reserved for all downloads that have not ended. */
  get reservedBytes(): number {
    return [...this.#running.values(), ...this.#abandoned].reduce(
      (sum, { reservedBytes }) => sum + reservedBytes,
      0,
    );
  }

  /**
   * Bytes that downloads will still take from the disk: reserved and not yet written. Abandoned downloads
   * write hardly any more, and their files are removed.
   */
  get unwrittenBytes(): number {
    return this.list().reduce(
      (sum, { reservedBytes, writtenBytes }) => sum + Math.max(0, reservedBytes - writtenBytes),
      0,
    );
  }

  add(download: Download): void {
    this.#running.set(download.digest, download);
  }

  /** Aborts the download. The version may be fetched again immediately. */
  abandon(download: Download): void {
    this.#running.delete(download.digest);
    this.#abandoned.add(download);
    download.abandoning.abort();
  }

  /** Forgets a download that has ended or was abandoned. */
  remove(download: Download): void {
    if (this.#running.get(download.digest) === download) this.#running.delete(download.digest);
    this.#abandoned.delete(download);
  }

  /** Resolves when all have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values(), ...this.#abandoned].map(({ ended }) => ended));
  }
}
