import { systemClock } from "#runtime/scheduling/clock.ts";
import { silentLogger } from "#runtime/logger.ts";
import { parseOffer } from "#streamer/transport/sdp.ts";
import type { ViewerOptions } from "#streamer/transport/viewer.ts";
import { offeredH264 } from "./localPage.ts";

const nothing = () => undefined;

/** Returns viewer options for a page's offer on this machine, with handlers that do nothing. */
export function localViewer({
  id,
  sdp,
  udpPort,
  onClosed = nothing,
  onMediaOpen = nothing,
  clock = systemClock,
}: {
  id: string;
  sdp: string;
  udpPort: number;
  onClosed?: () => void;
  onMediaOpen?: () => void;
  clock?: ViewerOptions["clock"];
}): ViewerOptions {
  return {
    id,
    offer: parseOffer(sdp),
    codec: offeredH264,
    addresses: ["127.0.0.1"],
    udpPort,
    client: undefined,
    holder: { viewer: "player", role: "play" },
    startKbps: 4_000,
    quality: { preset: "auto", width: 1_280, height: 720, fps: 60, maxKbps: 8_000 },
    logger: silentLogger,
    clock,
    onInput: nothing,
    onRtcp: nothing,
    onMediaOpen,
    onKeyFrameNeeded: nothing,
    onRate: nothing,
    onChannelOpen: nothing,
    onClosed,
    onLost: () => void onClosed, // As a session's refers to the viewer.
  };
}
