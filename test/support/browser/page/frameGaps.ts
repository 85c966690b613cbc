// Runs inside the play page, inserted as text: no imports, no exports. Measures how long the page's video
// freezes.

let frameGapsLastAt: number | undefined;
let frameGapsLongest = { milliseconds: 0, endedAt: 0 };

/** Records the time since the previous frame, including a gap that is not over. */
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
     * Returns the longest time between two frames since the last call, and when it ended, in milliseconds
     * since 1970.
     */
    takeLongest: () => {
      noteFrameGap();
      const longest = frameGapsLongest;
      frameGapsLongest = { milliseconds: 0, endedAt: 0 };
      return longest;
    },
  },
});
