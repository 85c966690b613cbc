/** A new random id. Not crypto.randomUUID, which pages served over plain HTTP do not have. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
