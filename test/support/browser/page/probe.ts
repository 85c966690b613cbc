// Runs inside the page under test, put there as text: no imports, no exports.

interface ProbeArea {
  x: number;
  y: number;
  width: number;
  height: number;
}

const probeCanvas = document.createElement("canvas");
const probeContext = probeCanvas.getContext("2d", { willReadFrequently: true });

/** Mean colour of the middle half of an area of what the video shows now, in pixels of its picture. */
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

Object.assign(globalThis, {
  joypodProbe: {
    color: (area: ProbeArea) => probeColor(probeVideo(), area),
    size: () => ({ width: probeVideo().videoWidth, height: probeVideo().videoHeight }),
    /** Frames that were decoded and shown so far. */
    frames: () => probeVideo().getVideoPlaybackQuality().totalVideoFrames,
  },
});
