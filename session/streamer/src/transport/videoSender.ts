import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { createPacer } from "./pacer.ts";
import type { RateController } from "./rateController.ts";
import { createRetransmitter } from "./retransmitter.ts";

/** Approximate size of the IP, UDP and SRTP headers. */
const overheadBytes = 40;

/** Minimum time between key frame requests. */
export const keyFrameGapMs = 200;

export interface VideoSenderOptions {
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  rate: RateController;
  /** Sends a packet with this transport-wide sequence number, which the browser's reports refer to. */
  send: (packet: Buffer, transportSequence: number) => void;
  /** Returns false if a key frame was requested a moment ago. */
  requestKeyFrame: () => boolean;
}

/** Paces the packets of pictures and retransmits those the browser missed. */
export interface VideoSender {
  push(packet: Buffer): void;
  /** Retransmits packets by RTP sequence number, as far as the rate allows. */
  resend(lost: readonly number[]): void;
  /** Sends nothing for `ms`, then resumes with a key frame. */
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
   * The discarded packets may include the key frame that was requested a moment ago. This request is then
   * refused, so it is repeated once.
   */
  const resumeWithKeyFrame = () => {
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
    onOverflow: resumeWithKeyFrame,
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
        resumeWithKeyFrame();
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
