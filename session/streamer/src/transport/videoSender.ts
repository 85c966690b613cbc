import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { createPacer } from "./pacer.ts";
import type { RateController } from "./rateController.ts";
import { createRetransmitter } from "./retransmitter.ts";

/** IP, UDP and SRTP around each packet, roughly. */
const overheadBytes = 40;

/** Key frames are asked for no more often than this. */
export const keyFrameGapMs = 200;

export interface VideoSenderOptions {
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  rate: RateController;
  /** Sends a packet under this number of the transport's own, by which the browser reports of it. */
  send: (packet: Buffer, transportSequence: number) => void;
  /** Returns false when one was asked for a moment ago. */
  requestKeyFrame: () => boolean;
}

/** Sends the packets of pictures at the pace of the rate, and again what the browser missed. */
export interface VideoSender {
  push(packet: Buffer): void;
  /** Sends these packets again, by their RTP sequence numbers, as far as the rate allows. */
  resend(lost: readonly number[]): void;
  /** Sends nothing for so many milliseconds, and goes on with a key frame. */
  hold(ms: number): void;
  isHeld(): boolean;
  close(): void;
}

export function createVideoSender({ clock, rate, send, requestKeyFrame }: VideoSenderOptions): VideoSender {
  let transportSequence = 0;
  let holdTimer: Timer | undefined;
  let retryTimer: Timer | undefined;
  const rateKbps = () => rate.state().targetKbps;
  /**
   * What was discarded may have been the key frame that was asked for a moment ago, and which this request is
   * refused for: it is made once more then.
   */
  const goOnWithKeyFrame = () => {
    retryTimer?.cancel();
    retryTimer = requestKeyFrame() ? undefined : clock.setTimer(keyFrameGapMs, requestKeyFrame);
  };
  const transmit = (packet: Buffer) => {
    const sequence = transportSequence;
    transportSequence = (transportSequence + 1) & 0xffff;
    rate.sent(sequence, packet.length + overheadBytes);
    send(packet, sequence);
  };
  const pacer = createPacer({
    clock,
    rateKbps,
    send: (packet) => {
      retransmitter.sent(packet);
      transmit(packet);
    },
    onOverflow: goOnWithKeyFrame,
  });
  const retransmitter = createRetransmitter({
    clock,
    rateKbps,
    requestKeyFrame,
    resend: (packet) => {
      pacer.spend(packet.length);
      transmit(packet);
    },
  });
  return {
    push(packet) {
      if (holdTimer === undefined) pacer.push(packet);
    },
    resend(lost) {
      if (holdTimer === undefined) retransmitter.respond(lost);
    },
    hold(ms) {
      holdTimer?.cancel();
      retryTimer?.cancel();
      pacer.clear();
      holdTimer = clock.setTimer(ms, () => {
        holdTimer = undefined;
        retransmitter.forget();
        goOnWithKeyFrame();
      });
    },
    isHeld: () => holdTimer !== undefined,
    close() {
      holdTimer?.cancel();
      retryTimer?.cancel();
      pacer.close();
    },
  };
}
