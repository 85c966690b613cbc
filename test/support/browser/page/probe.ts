// Runs inside the page under test, inserted as text: no imports, no exports.

interface ProbeArea {
  x: number;
  y: number;
  width: number;
  height: number;
}

const probeCanvas = document.createElement("canvas");
const probeContext = probeCanvas.getContext("2d", { willReadFrequently: true });

/** Returns the mean colour of the middle half of an area of the current frame, in pixels of the picture. */
function probeColor(video: HTMLVideoElement, { x, y, width, height }: ProbeArea): [number, number, number] {
  if (probeContext === null) throw new Error("This browser has no canvas.");
  const size = 4;
  probeCanvas.width = size;
  probeCanvas.height = size;
  probeContext.drawImage(video, x + width / 4, y + height / 4, width / 2, height / 2, 0, 0, size, size);
  const { data } = probeContext.getImageData(0, 0, size, size);
  const sum = (part: number): number => {
    let total = 0;
    for (let at = part; at < data.length; at += 4) total += data[at] ?? 0;
    return Math.round(total / (size * size));
  };
  return [sum(0), sum(1), sum(2)];
}

function probeVideo(): HTMLVideoElement {
  const video = document.querySelector("video");
  if (video === null) throw new Error("There is no video on this page.");
  return video;
}

interface ProbeEars {
  stream: MediaStream;
  /** Kept referenced while it is used. */
  source: MediaStreamAudioSourceNode;
  left: AnalyserNode;
  right: AnalyserNode;
}

let probeEars: ProbeEars | undefined;

/** Analyses both channels of a stream. */
function probeListen(stream: MediaStream): ProbeEars {
  const context = new AudioContext();
  const source = context.createMediaStreamSource(stream);
  const splitter = context.createChannelSplitter(2);
  const [left, right] = [context.createAnalyser(), context.createAnalyser()];
  source.connect(splitter);
  splitter.connect(left, 0);
  splitter.connect(right, 1);
  return { stream, source, left, right };
}

/** Returns the RMS of the latest samples, from 0 to 1. */
function probeLoudness(ear: AnalyserNode): number {
  const samples = new Float32Array(ear.fftSize);
  ear.getFloatTimeDomainData(samples);
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample ** 2, 0) / samples.length);
}

Object.assign(globalThis, {
  joypodProbe: {
    color: (area: ProbeArea) => probeColor(probeVideo(), area),
    size: () => ({ width: probeVideo().videoWidth, height: probeVideo().videoHeight }),
    /** Number of frames decoded and shown so far. */
    frames: () => probeVideo().getVideoPlaybackQuality().totalVideoFrames,
    /** Loudness of each channel; zero until sound was received after the first call. */
    loudness: () => {
      const { srcObject } = probeVideo();
      if (!(srcObject instanceof MediaStream)) throw new Error("The video plays no stream.");
      if (probeEars?.stream !== srcObject) probeEars = probeListen(srcObject);
      return { left: probeLoudness(probeEars.left), right: probeLoudness(probeEars.right) };
    },
  },
});
