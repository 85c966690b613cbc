import type { Gunzip } from "node:zlib";
import { createArchiveReader, type ArchiveReader } from "#archive/archiveReader.ts";
import type { ArchiveEntry, ArchiveSummary } from "#archive/archiveInspector.ts";
import type { ArchiveRules } from "#archive/archiveRules.ts";
import { createStrictGunzip, toArchiveRefused } from "#archive/gunzip.ts";
import { limits } from "#contracts/limits.ts";
import { releaseMemory } from "#runtime/releaseMemory.ts";

/**
 * Content of an accepted archive. Later changes of launcher or engineDir are checked against the names, whose
 * number is bounded.
 */
export interface InspectedArchive extends ArchiveSummary {
  /** Files with content at the root, including the launcher. */
  rootFiles: string[];
  /** Directories at the root, including the engine's. */
  rootDirectories: string[];
}

/** Inputs and callbacks of an inspection. */
export interface InspectionOptions {
  /** Called with each valid entry. An error that it throws refuses the archive. */
  onEntry?: ((entry: ArchiveEntry) => void) | undefined;
  /** Called with the number of names in memory as it grows. An error that it throws ends the inspection. */
  keepNames?: ((names: number) => void) | undefined;
  /** Size of the whole packed archive, if known in advance. */
  packedTotal?: number | undefined;
}

/**
 * Inspects a packed archive as it streams through and keeps only names.
 *
 * @throws ArchiveRefused
 */
export class ArchiveInspection {
  readonly #gunzip: Gunzip = createStrictGunzip();
  readonly #reader: ArchiveReader;
  readonly #ended = Promise.withResolvers<undefined>();
  readonly #failed = Promise.withResolvers<never>();
  readonly #rules: ArchiveRules;
  readonly #keepNames: InspectionOptions["keepNames"];
  readonly #rootFiles = new Set<string>();
  readonly #rootDirectories = new Set<string>();
  /** Memory that gunzip fills before it requests more. */
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

  /** Resolves when the bytes have been inspected, so that unpacked data does not accumulate. */
  async write(bytes: Buffer): Promise<void> {
    const inspected = new Promise<undefined>((resolve) => {
      this.#gunzip.write(bytes, () => resolve(undefined)); // Called with an error too; `failed` carries it.
    });
    await Promise.race([this.#failed.promise, inspected]);
  }

  /** Returns the archive's content. Call it after the last byte. */
  async finish(): Promise<InspectedArchive> {
    this.#gunzip.end();
    await Promise.race([this.#failed.promise, this.#ended.promise]);
    const summary = this.#reader.finish();
    return { ...summary, rootFiles: [...this.#rootFiles], rootDirectories: [...this.#rootDirectories] };
  }

  /** Frees the decompressor in any state. */
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

/** Keeps the name if there are few, or if it is the required one. */
function remember(names: Set<string>, name: string, required: string | undefined): void {
  if (names.size < limits.archive.rootNames || name === required) names.add(name);
}
