/** Of a burst's beginning, while the transport still finds out how much it may send. */
const rampMs = 1_000;

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

  /** Returns what arrived after the first second, in kbit/s; of shorter bursts what arrived at all. */
  kbps(): number {
    const first = this.#arrivals[0]?.at ?? 0;
    const settled = this.#arrivals.filter(({ at }) => at >= first + rampMs);
    const [from, to] = [settled[0]?.at ?? first, this.#arrivals.at(-1)?.at ?? first];
    const counted = settled.length > 1 ? settled.slice(1) : this.#arrivals.slice(1);
    const start = settled.length > 1 ? from : first;
    if (to <= start) return 0;
    return counted.reduce((sum, { bytes }) => sum + bytes, 0) * 8 / (to - start);
  }
}
