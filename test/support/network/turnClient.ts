import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import {
  attributes,
  decodeTurn,
  encodeTurn,
  errorOf,
  methods,
  peerAddress,
  type TurnLogin,
  type TurnMessage,
} from "./turnMessage.ts";

const responseMs = 2_000;
const protocols = { udp: 17, tcp: 6 } as const;

/** A TURN client over UDP that can send requests which browsers never send. */
export class TurnClient {
  readonly #socket: Socket;
  readonly #relay: { address: string; port: number };
  readonly #login: { username: string; credential: string };
  readonly #waiting = new Map<string, (message: TurnMessage) => void>();
  /** Data from peers, received by indication or channel. */
  readonly received: Buffer[] = [];
  #known: TurnLogin | undefined;
  #hasAddress = false;

  private constructor(
    socket: Socket,
    relay: { address: string; port: number },
    login: { username: string; credential: string },
  ) {
    this.#socket = socket;
    this.#relay = relay;
    this.#login = login;
    socket.on("message", (packet) => this.#take(packet));
  }

  static async open(
    relay: { address: string; port: number },
    login: { username: string; credential: string },
  ): Promise<TurnClient> {
    const socket = createSocket("udp4").bind(0);
    await once(socket, "listening");
    return new TurnClient(socket, relay, login);
  }

  /** Requests a relayed address. Returns the error code, or "allocated". */
  async allocate(protocol: keyof typeof protocols = "udp"): Promise<number | "allocated"> {
    const transport = [attributes.transport, Buffer.from([protocols[protocol], 0, 0, 0])] as const;
    const challenge = await this.#ask(methods.allocate, [transport]);
    const [realm, nonce] = [
      challenge.attributes.get(attributes.realm),
      challenge.attributes.get(attributes.nonce),
    ];
    if (realm === undefined || nonce === undefined) return errorOf(challenge) ?? "allocated";
    this.#known = { ...this.#login, realm: realm.toString(), nonce: Buffer.from(nonce) };
    const error = errorOf(await this.#ask(methods.allocate, [transport]));
    this.#hasAddress = error === undefined;
    return error ?? "allocated";
  }

  /** Requests a permission for an address. Returns the error code, or "permitted". */
  async permit(address: string, port = 20_000): Promise<number | "permitted"> {
    return (
      errorOf(await this.#ask(methods.createPermission, [[attributes.peer, peerAddress(address, port)]])) ??
      "permitted"
    );
  }

  /**
   * Requests a channel to an address and port. Returns the error code, or "bound". `sendOnChannel` uses the
   * first channel.
   */
  async bindChannel(address: string, port: number, number = 0x4001): Promise<number | "bound"> {
    const channel = Buffer.from([number >> 8, number & 0xff, 0, 0]);
    return (
      errorOf(
        await this.#ask(methods.channelBind, [
          [attributes.channel, channel],
          [attributes.peer, peerAddress(address, port)],
        ]),
      ) ?? "bound"
    );
  }

  /** Requests a TCP connection to an address and port. Returns the error code, or "connected". */
  async connect(address: string, port: number): Promise<number | "connected"> {
    return (
      errorOf(await this.#ask(methods.connect, [[attributes.peer, peerAddress(address, port)]])) ??
      "connected"
    );
  }

  /** Refreshes the allocation. Returns the error code, or "kept". */
  async refresh(): Promise<number | "kept"> {
    return errorOf(await this.#ask(methods.refresh, [])) ?? "kept";
  }

  /** Sends to an address and port through the relay, with or without permission. */
  send(address: string, port: number, data: string): void {
    const { packet } = encodeTurn(methods.send, [
      [attributes.peer, peerAddress(address, port)],
      [attributes.data, Buffer.from(data)],
    ]);
    // Marks the message as an indication.
    packet.writeUInt16BE(packet.readUInt16BE(0) | 0x0010, 0);
    this.#socket.send(packet, this.#relay.port, this.#relay.address);
  }

  /** Sends on the bound channel. */
  sendOnChannel(data: string): void {
    const head = Buffer.from([0x40, 0x01, 0, data.length]);
    this.#socket.send(Buffer.concat([head, Buffer.from(data)]), this.#relay.port, this.#relay.address);
  }

  /**
   * Closes the client and releases its allocation. Otherwise the relay would keep it for ten minutes for the
   * login and the next user of this port.
   */
  async close(): Promise<void> {
    try {
      if (this.#hasAddress) await this.#ask(methods.refresh, [[attributes.lifetime, Buffer.alloc(4)]]);
    } finally {
      this.#socket.close();
    }
  }

  async #ask(method: number, values: readonly (readonly [number, Buffer])[]): Promise<TurnMessage> {
    const { packet, transaction } = encodeTurn(method, values, this.#known);
    const response = new Promise<TurnMessage>((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error("The relay did not respond.")), responseMs);
      this.#waiting.set(transaction, (message) => {
        clearTimeout(deadline);
        resolve(message);
      });
    });
    this.#socket.send(packet, this.#relay.port, this.#relay.address);
    return response.finally(() => this.#waiting.delete(transaction));
  }

  #take(packet: Buffer): void {
    const message = decodeTurn(packet);
    if (message === undefined) {
      this.received.push(packet.subarray(4, 4 + packet.readUInt16BE(2))); // Padding follows.
      return;
    }
    const data = message.attributes.get(attributes.data);
    if (data !== undefined) this.received.push(data);
    this.#waiting.get(message.transaction)?.(message);
  }
}
