/**
 * Releases memory at once; nothing may read it any more. Bytes that pass through come at the speed of the
 * network or the disk: left to the garbage collector they make it walk through the whole heap many times a
 * second, which on a busy machine costs more than all the rest.
 */
export function releaseMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}

/** Releases the memory of these bytes when it holds nothing else: small ones may share theirs with others. */
export function releaseBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer.byteLength === byteLength) releaseMemory(buffer);
}
