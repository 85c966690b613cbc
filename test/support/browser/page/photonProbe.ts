// Runs inside a page, inserted as text after probe.ts: no imports, no exports. Measures the time from an
// input to the frame that shows it.

const trialTimeoutMs = 3_000;

interface ReferenceStream {
  video: HTMLVideoElement;
  /** From the first step of the connection to the first decoded frame. */
  firstFrameMs: number;
  press: () => void;
  close: () => void;
}

function photonPause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Returns the colour of an area in pixels of the test card. The browser's own sender reduces the resolution
 * when bandwidth is low.
 */
function photonColor(video: HTMLVideoElement, { x, y, width, height }: ProbeArea): [number, number, number] {
  const scale = video.videoWidth / 1280;
  return probeColor(video, { x: x * scale, y: y * scale, width: width * scale, height: height * scale });
}

/** Returns the milliseconds from `act` to the first frame in which the area has another colour. */
function photonTrial(video: HTMLVideoElement, area: ProbeArea, act: () => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const before = photonColor(video, area);
    const timer = setTimeout(() => reject(new Error("No frame showed the input.")), trialTimeoutMs);
    const start = performance.now();
    const look = (): void => {
      const now = photonColor(video, area);
      if (before.every((part, at) => Math.abs(part - (now[at] ?? 0)) < 60)) {
        video.requestVideoFrameCallback(look);
        return;
      }
      clearTimeout(timer);
      resolve(performance.now() - start);
    };
    video.requestVideoFrameCallback(look);
    act();
  });
}

async function photonTrials(
  video: HTMLVideoElement,
  area: ProbeArea,
  act: () => void,
  trials: number,
): Promise<number[]> {
  const results: number[] = [];
  for (let trial = 0; trial < trials; trial += 1) {
    await photonPause(200 + Math.random() * 200); // Not in step with the frames.
    results.push(await photonTrial(video, area, act));
  }
  return results;
}

/**
 * Opens the reference, which measures the browser's share: a changing canvas of the test card's size,
 * streamed to a video on the same page.
 */
async function openReference(): Promise<ReferenceStream> {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("This browser has no canvas.");
  let presses = 0;
  let isOpen = true;
  let frames = 0;
  const paint = (): void => {
    context.fillStyle = "#404040";
    context.fillRect(0, 0, 1280, 720);
    context.fillStyle = "#606060";
    for (let bar = 0; bar < 1280; bar += 80) context.fillRect((bar + frames * 4) % 1280, 0, 40, 720);
    context.fillStyle = presses % 2 === 0 ? "#c00000" : "#00c000";
    context.fillRect(440, 210, 400, 300);
  };
  const draw = (): void => {
    frames += 1;
    paint();
    if (isOpen) requestAnimationFrame(draw);
  };
  draw();
  const start = performance.now();
  const [sender, receiver] = [new RTCPeerConnection(), new RTCPeerConnection()];
  sender.addEventListener(
    "icecandidate",
    ({ candidate }) => void receiver.addIceCandidate(candidate ?? undefined),
  );
  receiver.addEventListener(
    "icecandidate",
    ({ candidate }) => void sender.addIceCandidate(candidate ?? undefined),
  );
  const input = receiver.createDataChannel("input");
  sender.addEventListener("datachannel", ({ channel }) =>
    channel.addEventListener("message", () => {
      presses += 1;
      paint(); // At once, as the test card does.
    }),
  );
  const transceiver = receiver.addTransceiver("video", { direction: "recvonly" });
  transceiver.setCodecPreferences(h264First());
  transceiver.receiver.jitterBufferTarget = 0;
  const video = Object.assign(document.createElement("video"), {
    muted: true,
    autoplay: true,
    srcObject: new MediaStream([transceiver.receiver.track]),
  });
  document.body.append(video);
  await receiver.setLocalDescription(await receiver.createOffer());
  if (receiver.localDescription === null) throw new Error("No offer.");
  await sender.setRemoteDescription(receiver.localDescription);
  for (const part of canvas.captureStream(60).getTracks()) await keepSize(sender.addTrack(part));
  await sender.setLocalDescription(await sender.createAnswer());
  if (sender.localDescription === null) throw new Error("No answer.");
  await receiver.setRemoteDescription(sender.localDescription);
  await new Promise((resolve) => video.requestVideoFrameCallback(resolve));
  const firstFrameMs = performance.now() - start;
  return {
    video,
    firstFrameMs,
    press: () => input.send("press"),
    close: () => {
      isOpen = false;
      sender.close();
      receiver.close();
      video.remove();
    },
  };
}

async function keepSize(track: RTCRtpSender): Promise<void> {
  await track.setParameters({ ...track.getParameters(), degradationPreference: "maintain-resolution" });
}

/** Returns the codec of sessions first, if the browser supports it. */
function h264First(): RTCRtpCodec[] {
  const { codecs } = RTCRtpReceiver.getCapabilities("video") ?? { codecs: [] };
  const isH264 = ({ mimeType }: RTCRtpCodec): boolean => mimeType.toLowerCase() === "video/h264";
  return [...codecs.filter(isH264), ...codecs.filter((codec) => !isH264(codec))];
}

/** Presses and releases a key, with the events that the play page receives. */
function pressOnPlayPage(): void {
  const surface = document.querySelector("[data-testid=game-surface]");
  if (surface === null) throw new Error("This is not the play page.");
  for (const type of ["keydown", "keyup"])
    surface.dispatchEvent(new KeyboardEvent(type, { code: "KeyZ", bubbles: true, cancelable: true }));
}

Object.assign(globalThis, {
  joypodPhoton: {
    stream: (area: ProbeArea, trials: number) => photonTrials(probeVideo(), area, pressOnPlayPage, trials),
    loopback: async (area: ProbeArea, trials: number) => {
      const reference = await openReference();
      try {
        // Lets the bandwidth estimate and the jitter buffer settle, as in a running session.
        await photonPause(2_000);
        return await photonTrials(reference.video, area, reference.press, trials);
      } finally {
        reference.close();
      }
    },
    loopbackFirstFrame: async () => {
      const reference = await openReference();
      reference.close();
      return reference.firstFrameMs;
    },
  },
});
