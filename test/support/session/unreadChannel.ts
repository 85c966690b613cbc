/** Returns a data channel whose browser reads nothing, so that everything sent stays queued. */
export class UnreadChannel {
  readonly messages: string[] = [];
  waitingBytes: number;
  readonly #isOpen: boolean;

  constructor({ waitingBytes = 0, isOpen = true } = {}) {
    this.waitingBytes = waitingBytes;
    this.#isOpen = isOpen;
  }

  isOpen(): boolean {
    return this.#isOpen;
  }

  bufferedAmount(): number {
    return this.waitingBytes;
  }

  sendMessage(message: string): boolean {
    this.messages.push(message);
    this.waitingBytes += message.length;
    return true;
  }
}
