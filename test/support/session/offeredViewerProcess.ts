// The viewers of a session without display and sound, to which a page sends an offer. Runs as a separate
// process that is killed, because the transport's threads would keep the test process alive.
import { whep } from "#contracts/stream.ts";
import type { StreamQuality } from "#contracts/streamQuality.ts";
import { silentLogger } from "#runtime/logger.ts";
import { createDesktopInput } from "#streamer/input/desktopInput.ts";
import { createInputRouter } from "#streamer/input/inputRouter.ts";
import { candidateEncoders } from "#streamer/media/encoders.ts";
import { createMediaSource } from "#streamer/media/mediaSource.ts";
import { createViewers } from "#streamer/transport/viewers.ts";
import { FakeClock } from "../clocks/fakeClock.ts";
import { insteadOfChild } from "../processes/insteadOfChild.ts";
import { desktopDeps } from "./desktopDeps.ts";
import { openLocalPage } from "./localPage.ts";
import { offeredKbps, type ViewerByOffer } from "./offeredViewer.ts";

const nothing = () => undefined;
const clock = new FakeClock();
const picture = { width: 1_280, height: 720, fps: 60 };
const quality: StreamQuality = { ...picture, preset: "dataSaver", maxKbps: offeredKbps.narrow };
const encoders = new Map(
  candidateEncoders(["h264"], "software")
    .slice(0, 1)
    .map((encoder) => [encoder.codec, encoder]),
);
const neverStarts = insteadOfChild("");
const xtest = {
  KeyPress: 2,
  KeyRelease: 3,
  ButtonPress: 4,
  ButtonRelease: 5,
  MotionNotify: 6,
  FakeInput: nothing,
} as const;
const xkb = {
  UseCoreKbd: 0x100,
  ModMask: { Lock: 2, Mod2: 16 },
  UseExtension: nothing,
  LatchLockState: nothing,
} as const;

const media = createMediaSource({
  encoders,
  display: ":99",
  shape: quality,
  soundServer: "unix:/nowhere",
  soundSink: "game",
  env: { gpu: neverStarts, software: neverStarts },
  logger: silentLogger,
  clock,
});
const input = createInputRouter({
  desktop: createDesktopInput({
    ...desktopDeps(clock),
    connection: {
      client: { QueryPointer: nothing },
      xtest,
      xkb,
      root: 1,
      size: picture,
      isBehind: () => false,
    },
    picture: () => picture,
  }),
  gamepads: { connect: () => 0, set: nothing, unplug: nothing, rest: nothing },
  clock,
});
const viewers = createViewers({
  media,
  input,
  codecs: ["h264"],
  addresses: ["127.0.0.1"],
  udpPort: Number(process.argv[2]),
  startKbps: offeredKbps.start,
  bounds: { ...picture, maxFps: picture.fps, maxKbps: offeredKbps.wide },
  quality,
  logger: silentLogger,
  clock,
  isPointerHidden: () => false,
  describeStream: (codec) => ({ t: "hello", ...picture, codec, encoder: "", gamepad: false }),
});
const page = openLocalPage({ channels: [whep.dataChannel], hasMedia: true });
await viewers.connect({
  sdp: page.offer,
  holder: { viewer: "player", role: "play" },
  client: undefined,
  takeover: false,
});

const viewer = viewers.current();
const kbps = () => viewer?.rate.state().targetKbps ?? 0;
const narrowKbps = kbps();
viewer?.setQuality({ ...quality, preset: "sharp", maxKbps: offeredKbps.wide });
const widenedKbps = kbps();
viewers.close();
media.close();
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.send?.({
  kbps: narrowKbps,
  widenedKbps,
  timersAfterEnd: clock.pendingTimers,
} satisfies ViewerByOffer);
