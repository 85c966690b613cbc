/** Bytes of a file by which the kernel knows how to start it. */
const beginnings = [Buffer.from("#!"), Buffer.from("\u007fELF")];

/** So many bytes tell whether a file is a program. */
export const headBytes = Math.max(...beginnings.map(({ length }) => length));

/**
 * Returns whether a file that begins with these bytes is a script or a program: the kernel could start it.
 */
export function isProgram(head: Buffer): boolean {
  return beginnings.some((beginning) => head.subarray(0, beginning.length).equals(beginning));
}
