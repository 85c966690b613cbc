import type { TestNotice, TestRequest, TestSdpAnswer } from "#contracts/connectionTest.ts";
import { eventually } from "../clocks/eventually.ts";
import { PeerProcess } from "./peerProcess.ts";

/** Messages to the page process. */
export type PageCommand = { type: "take"; sdp: string; candidate: string } | { type: "send"; text: string };

/** Messages of the page process after its offer. */
export type PageEvent =
  | { type: "open" | "closed" }
  | { type: "notice"; notice: TestNotice }
  | { type: "packet"; bytes: number };

/** A page that tests its connection, without a browser. */
export class TestPage {
  readonly notices: TestNotice[] = [];
  /** Size in bytes of each packet that arrived. */
  packets: number[] = [];
  isClosed = false;
  #isOpen = false;
  readonly #process: PeerProcess<PageCommand, PageEvent>;

  private constructor(process: PeerProcess<PageCommand, PageEvent>) {
    this.#process = process;
    process.follow((event) => this.#follow(event));
  }

  static async open(): Promise<TestPage> {
    return new TestPage(await PeerProcess.start(new URL("./testPageProcess.ts", import.meta.url)));
  }

  get offer(): string {
    return this.#process.offer;
  }

  async take({ sdp, addresses: [address], udpPort }: TestSdpAnswer): Promise<void> {
    this.#process.tell({
      type: "take",
      sdp,
      candidate: `a=candidate:1 1 UDP 2122317823 ${address} ${udpPort} typ host`,
    });
    await eventually(() => this.#isOpen, { what: "an open channel" });
  }

  send(request: TestRequest | string): void {
    this.#process.tell({
      type: "send",
      text: typeof request === "string" ? request : JSON.stringify(request),
    });
  }

  ends(): Extract<TestNotice, { t: "sent" }>[] {
    return this.notices.filter((notice) => notice.t === "sent");
  }

  /** Leaves, like a page that is closed. */
  close(): Promise<void> {
    return this.#process.close();
  }

  #follow(event: PageEvent): void {
    if (event.type === "open") this.#isOpen = true;
    if (event.type === "closed") this.isClosed = true;
    if (event.type === "notice") this.notices.push(event.notice);
    if (event.type === "packet") this.packets.push(event.bytes);
  }
}
