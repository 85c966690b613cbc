import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { eventually } from "../clocks/eventually.ts";

/** A delivery as it arrived. */
export interface ReceivedWebhook {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The body of an event. */
export interface WebhookPayload {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** Answers a delivery. */
export type Answer = (response: ServerResponse, received: ReceivedWebhook) => void;

/** A partner's server on loopback that keeps what it receives. */
export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  /** Answers the next deliveries; 204 unless a test sets it. */
  answer: Answer = (response) => response.writeHead(204).end();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then(
        (body) => {
          const delivery = { path: request.url ?? "", headers: request.headers, body };
          this.received.push(delivery);
          this.answer(response, delivery);
        },
        () => undefined, // The sender has left.
      );
    });
  }

  static async start(port = 0): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    receiver.#server.listen(port, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** Waits until so many deliveries have arrived in all. */
  async waitFor(count: number): Promise<readonly ReceivedWebhook[]> {
    await eventually(() => this.received.length >= count, { what: `${count} deliveries`, timeoutMs: 30_000 });
    return this.received;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Returns the event of a delivery if the signature is right. @throws otherwise */
export function verified({ headers, body }: ReceivedWebhook, secret: string): WebhookPayload {
  return new Webhook(secret).verify(body, {
    "webhook-id": String(headers["webhook-id"]),
    "webhook-timestamp": String(headers["webhook-timestamp"]),
    "webhook-signature": String(headers["webhook-signature"]),
  }) as WebhookPayload;
}
