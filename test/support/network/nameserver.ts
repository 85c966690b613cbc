import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

const types = { A: 1, AAAA: 28 } as const;

/** A nameserver on loopback whose answers a test sets. It knows A records only. */
export class Nameserver {
  /** Addresses by name. A function is called for each question about IPv4. */
  readonly addresses = new Map<string, string | (() => string)>();
  readonly #socket: Socket = createSocket("udp4");

  static async start(): Promise<Nameserver> {
    const nameserver = new Nameserver();
    const socket = nameserver.#socket;
    socket.on("message", (question, { address, port }) => {
      const reply = nameserver.#replyTo(question);
      socket.send(reply, port, address);
    });
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    return nameserver;
  }

  /** Its address and port. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  async stop(): Promise<void> {
    this.#socket.close();
    await once(this.#socket, "close");
  }

  /** Returns the reply to a message with one question (RFC 1035). */
  #replyTo(message: Buffer): Buffer {
    const { name, end } = nameIn(message, 12);
    const type = message.readUInt16BE(end);
    const known = this.addresses.get(name);
    const isAnswered = known !== undefined && type === types.A;
    const header = Buffer.from(message.subarray(0, 12));
    // A response; recursion is available; NXDOMAIN for unknown names.
    header.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2);
    [1, isAnswered ? 1 : 0, 0, 0].forEach((count, index) => header.writeUInt16BE(count, 4 + 2 * index));
    const question = message.subarray(12, end + 4);
    if (!isAnswered) return Buffer.concat([header, question]);
    const answer = Buffer.alloc(16);
    answer.writeUInt16BE(0xc00c, 0); // The name of the question.
    answer.writeUInt16BE(types.A, 2);
    answer.writeUInt16BE(1, 4); // IN, with a lifetime of 0.
    answer.writeUInt16BE(4, 10);
    const address = typeof known === "string" ? known : known();
    address.split(".").forEach((byte, index) => answer.writeUInt8(Number(byte), 12 + index));
    return Buffer.concat([header, question, answer]);
  }
}

function nameIn(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let place = start;
  for (let length = message.readUInt8(place); length > 0; length = message.readUInt8(place)) {
    labels.push(message.toString("latin1", place + 1, place + 1 + length));
    place += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: place + 1 };
}
