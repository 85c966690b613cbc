/** Returns the code of a system call's error, such as ENOENT; undefined for any other. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
