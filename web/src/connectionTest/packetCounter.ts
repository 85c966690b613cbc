/** The path has to be full for this long to measure its rate. */
const windowMs = 1_000;

/** Counts the packets of one burst by their numbers. */
export class PacketCounter {
  readonly #numbers = new Set<number>();
  readonly #arrivals: { at: number; bytes: number }[] = [];

  /** Takes a packet that arrived at this time, in milliseconds. */
  add(packet: ArrayBuffer, at: number): void {
    if (packet.byteLength < 4) return;
    this.#numbers.add(new DataView(packet).getUint32(0));
    this.#arrivals.push({ at, bytes: packet.byteLength });
  }

  /** Returns the share of `sent` packets that did not arrive, from 0 to 1. */
  loss(sent: number): number {
    return sent === 0 ? 1 : Math.max(0, 1 - this.#numbers.size / sent);
  }

  /**
   * Returns the highest rate of any whole second, in kbit/s, or the mean rate of a shorter burst. The
   * transport starts slowly and backs off after each loss, so the mean would underestimate the path.
   */
  kbps(): number {
    let most = 0;
    let bytes = 0;
    let first = 0;
    for (const { at, bytes: arrived } of this.#arrivals) {
      bytes += arrived;
      for (
        let oldest = this.#arrivals[first];
        oldest !== undefined && oldest.at <= at - windowMs;
        oldest = this.#arrivals[++first]
      )
        bytes -= oldest.bytes;
      most = Math.max(most, bytes);
    }
    const span = (this.#arrivals.at(-1)?.at ?? 0) - (this.#arrivals[0]?.at ?? 0);
    return span === 0 ? 0 : (most * 8) / Math.min(span, windowMs);
  }
}
