import { systemErrorCode } from "#runtime/errors.ts";

const absentCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

/**
 * Whether the error says that nothing is there. A disk that fails, or a process without memory or open files,
 * says nothing of the kind.
 */
export function isAbsent(error: unknown): boolean {
  return absentCodes.has(systemErrorCode(error) ?? "");
}
