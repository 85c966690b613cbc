import type { Gunzip } from "node:zlib";
import { createArchiveReader, type ArchiveReader } from "#archive/archiveReader.ts";
import type { ArchiveEntry, ArchiveSummary } from "#archive/archiveInspector.ts";
import type { ArchiveRules } from "#archive/archiveRules.ts";
import { createStrictGunzip, toArchiveRefused } from "#archive/gunzip.ts";
import { limits } from "#contracts/limits.ts";
import { releaseMemory } from "#runtime/releaseMemory.ts";

/**
 * What an accepted archive holds. Later changes of launcher or engineDir are checked against the names, of
 * which there is a bounded number.
 */
export interface InspectedArchive extends ArchiveSummary {
  /** Files with content at the root, the launcher among them. */
  rootFiles: string[];
  /** The engine's directory is among them. */
  rootDirectories: string[];
}

/** What may be told to an inspection, and told of it. */
export interface InspectionOptions {
  /** Called with each entry that passes the rules. An error that it throws refuses the archive. */
  onEntry?: ((entry: ArchiveEntry) => void) | undefined;
  /**
   * Called with the number of names that are in memory, as it grows. An error that it throws ends the
   * inspection.
   */
  keepNames?: ((names: number) => void) | undefined;
  /** Size of the whole packed archive, where it is known before its end. */
  packedTotal?: number | undefined;
}

/** Inspects a packed archive as it streams through; only names of it are kept. Throws ArchiveRefused. */
export class ArchiveInspection {
  readonly #gunzip: Gunzip = createStrictGunzip();
  readonly #reader: ArchiveReader;
  readonly #ended = Promise.withResolvers<undefined>();
  readonly #failed = Promise.withResolvers<never>();
  readonly #rules: ArchiveRules;
  readonly #keepNames: InspectionOptions["keepNames"];
  readonly #rootFiles = new Set<string>();
  readonly #rootDirectories = new Set<string>();
  /** The memory that the gunzip fills piece by piece before it takes another. */
  #unpacked: ArrayBufferLike | undefined;

  constructor(rules: ArchiveRules, { onEntry, keepNames, packedTotal }: InspectionOptions = {}) {
    this.#rules = rules;
    this.#keepNames = keepNames;
    this.#reader = createArchiveReader(
      rules,
      {
        entry: (entry) => {
          this.#remember(entry);
          onEntry?.(entry);
        },
      },
      packedTotal,
    );
    this.#failed.promise.catch(() => undefined); // The next write or finish throws it.
    this.#gunzip.on("data", (bytes: Buffer) => this.#read(bytes));
    this.#gunzip.once("end", () => this.#ended.resolve(undefined));
    this.#gunzip.on("error", (error) => this.#failed.reject(toArchiveRefused(error)));
  }

  /** Resolves when the bytes have been inspected, so that unpacked data never piles up. */
  async write(bytes: Buffer): Promise<void> {
    const inspected = new Promise<undefined>((resolve) => {
      this.#gunzip.write(bytes, () => resolve(undefined)); // Called with an error too; `failed` carries it.
    });
    await Promise.race([this.#failed.promise, inspected]);
  }

  /** Returns what the archive holds; to be called after the last byte. */
  async finish(): Promise<InspectedArchive> {
    this.#gunzip.end();
    await Promise.race([this.#failed.promise, this.#ended.promise]);
    const summary = this.#reader.finish();
    return { ...summary, rootFiles: [...this.#rootFiles], rootDirectories: [...this.#rootDirectories] };
  }

  /** Frees the decompressor, whatever state it is in. */
  close(): void {
    this.#gunzip.destroy();
  }

  #read(bytes: Buffer): void {
    try {
      if (this.#unpacked !== undefined && this.#unpacked !== bytes.buffer) releaseMemory(this.#unpacked);
      this.#unpacked = bytes.buffer;
      this.#reader.write(bytes, this.#gunzip.bytesWritten);
      this.#keepNames?.(this.#reader.names);
    } catch (error) {
      this.#failed.reject(error);
      this.#gunzip.destroy();
    }
  }

  #remember({ path, isDirectory, size }: ArchiveEntry): void {
    const slash = path.indexOf("/");
    if (slash >= 0 || isDirectory) {
      remember(this.#rootDirectories, slash < 0 ? path : path.slice(0, slash), this.#rules.engineDir);
    } else if (size > 0) {
      remember(this.#rootFiles, path, this.#rules.launcher);
    }
  }
}

/** Remembers the name while there are few, and the one that must not be forgotten. */
function remember(names: Set<string>, name: string, required: string | undefined): void {
  if (names.size < limits.archive.rootNames || name === required) names.add(name);
}
