/**
 * Releases memory immediately; it must not be read afterwards. Data is transferred at the speed of the
 * network or the disk: leaving it to the garbage collector causes many full collections per second, which on
 * a busy machine cost more than everything else.
 */
export function releaseMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}

/** Releases the memory of these bytes if they do not share it with others, as small buffers may. */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer.byteLength === byteLength) releaseMemory(buffer);
}
