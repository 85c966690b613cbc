// Runs inside the play page, inserted as text after probe.ts and before the page's scripts: no imports, no
// exports. Records when the player first sees an uncovered decoded frame, and when first one with the test
// card.

const firstPicture: { shownAt: number | null; testCardAt: number | null } = {
  shownAt: null,
  testCardAt: null,
};

/**
 * Returns true for the test card: the block in its middle has at least one lit channel from the first frame.
 * An empty display is black.
 */
function firstPictureIsLit(video: HTMLVideoElement): boolean {
  const color = probeColor(video, { x: 440, y: 210, width: 400, height: 300 });
  return Math.max(...color) > 0x80 && Math.min(...color) < 0x40;
}

function firstPictureIsUncovered(video: HTMLVideoElement): boolean {
  const { x, y, width, height } = video.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  return top !== null && top.closest("[data-testid=game-surface]") !== null;
}

function lookForFirstPicture(): void {
  const video = document.querySelector("video");
  if (
    video !== null &&
    video.getVideoPlaybackQuality().totalVideoFrames > 0 &&
    firstPictureIsUncovered(video)
  ) {
    const now = performance.timeOrigin + performance.now();
    firstPicture.shownAt ??= now;
    if (firstPictureIsLit(video)) firstPicture.testCardAt = now;
  }
  if (firstPicture.testCardAt === null) requestAnimationFrame(lookForFirstPicture);
}

Object.assign(globalThis, { joypodFirstPicture: firstPicture });
if (location.pathname.startsWith("/play/")) requestAnimationFrame(lookForFirstPicture);
