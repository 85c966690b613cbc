/**
 * Frees the memory of bytes that nobody needs any more, where they have it to themselves. Garbage of this kind comes at the speed of
 * the network: left to the collector, it makes it walk through the whole heap many times a second.
 */
export function freeNow({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
