import { fork, type ChildProcess } from "node:child_process";
import type { TestNotice, TestRequest, TestSdpAnswer } from "#contracts/connectionTest.ts";
import { eventually } from "../clocks/eventually.ts";

/** What the page's process is told. */
export type PageCommand = { type: "take"; sdp: string; candidate: string } | { type: "send"; text: string } | { type: "close" };

/** What the page's process tells. */
export type PageEvent = { type: "offer"; sdp: string } | { type: "open" | "closed" } | { type: "notice"; notice: TestNotice } | { type: "packet"; bytes: number };

/** What a page does that tests its connection, without a browser. */
export class TestPage {
  readonly offer: string;
  readonly notices: TestNotice[] = [];
  /** Bytes of each packet that arrived. */
  packets: number[] = [];
  isClosed = false;
  #isOpen = false;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, offer: string) {
    this.#process = process;
    this.offer = offer;
    process.on("message", (event: PageEvent) => this.#follow(event));
  }

  static async open(): Promise<TestPage> {
    const process = fork(new URL("./testPageProcess.ts", import.meta.url));
    const offer = await new Promise<string>((resolve, reject) => {
      process.once("message", (event: PageEvent) => {
        if (event.type === "offer") resolve(event.sdp);
        else reject(new Error(`The page begins with ${event.type} instead of its offer.`));
      });
      process.once("exit", (code) => reject(new Error(`The page ended with ${code ?? "a signal"} before its offer.`)));
    });
    return new TestPage(process, offer);
  }

  async take({ sdp, addresses: [address], udpPort }: TestSdpAnswer): Promise<void> {
    this.#tell({ type: "take", sdp, candidate: `a=candidate:1 1 UDP 2122317823 ${address} ${udpPort} typ host` });
    await eventually(() => this.#isOpen, { what: "an open channel" });
  }

  send(request: TestRequest | string): void {
    this.#tell({ type: "send", text: typeof request === "string" ? request : JSON.stringify(request) });
  }

  ends(): Extract<TestNotice, { t: "sent" }>[] {
    return this.notices.filter((notice) => notice.t === "sent");
  }

  /** Leaves, as a page does that is closed. */
  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#tell({ type: "close" });
    await ended;
  }

  #tell(command: PageCommand): void {
    this.#process.send(command);
  }

  #follow(event: PageEvent): void {
    if (event.type === "open") this.#isOpen = true;
    if (event.type === "closed") this.isClosed = true;
    if (event.type === "notice") this.notices.push(event.notice);
    if (event.type === "packet") this.packets.push(event.bytes);
  }
}
