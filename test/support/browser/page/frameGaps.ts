// Runs inside the play page, put there as text: no imports, no exports. Measures how long the page's video stands still.

let frameGapsLastAt: number | undefined;
let frameGapsLongestMs = 0;

/** Notes the time since the frame before, also of one that still lasts. */
function noteFrameGap(): void {
  const now = performance.now();
  if (frameGapsLastAt !== undefined) frameGapsLongestMs = Math.max(frameGapsLongestMs, now - frameGapsLastAt);
}

function followFrames(video: HTMLVideoElement): void {
  video.requestVideoFrameCallback(() => {
    noteFrameGap();
    frameGapsLastAt = performance.now();
    followFrames(video);
  });
}

const frameGapsVideo = document.querySelector("video");
if (frameGapsVideo === null) throw new Error("There is no video on this page.");
followFrames(frameGapsVideo);

Object.assign(globalThis, {
  joypodFrameGaps: {
    /** The longest time between two frames since the last call, in milliseconds. */
    takeLongest: () => {
      noteFrameGap();
      const longest = frameGapsLongestMs;
      frameGapsLongestMs = 0;
      return longest;
    },
  },
});
