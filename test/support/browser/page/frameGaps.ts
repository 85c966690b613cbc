// Runs inside the play page, put there as text: no imports, no exports. Measures how long the page's video
// stands still.

let frameGapsLastAt: number | undefined;
let frameGapsLongest = { milliseconds: 0, endedAt: 0 };

/** Notes the time since the frame before, also of one that still lasts. */
function noteFrameGap(): void {
  if (frameGapsLastAt === undefined) return;
  const milliseconds = performance.now() - frameGapsLastAt;
  if (milliseconds > frameGapsLongest.milliseconds) frameGapsLongest = { milliseconds, endedAt: Date.now() };
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
    /**
     * The longest time between two frames since the last call, and when it ended, in milliseconds since 1970.
     */
    takeLongest: () => {
      noteFrameGap();
      const longest = frameGapsLongest;
      frameGapsLongest = { milliseconds: 0, endedAt: 0 };
      return longest;
    },
  },
});
