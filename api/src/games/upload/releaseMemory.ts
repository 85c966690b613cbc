/**
 * Releases the memory of bytes that nobody needs any more, when no other bytes share it. Garbage of this kind comes at the speed of the
 * network: the collector would walk through the whole heap many times a second for it.
 */
export function releaseMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
