import type { StreamInput } from "#contracts/stream.ts";
import { GamepadCapture } from "./gamepadCapture.ts";
import { KeyboardCapture, isMenuChord } from "./keyboardCapture.ts";
import { pictureArea, type Size } from "./pictureArea.ts";
import { PointerCapture, type PictureGeometry } from "./pointerCapture.ts";
import { WheelCapture } from "./wheelCapture.ts";

export interface InputCaptureOptions {
  /** Contains the video, and has the focus while the game receives the input. */
  surface: HTMLElement;
  video: HTMLVideoElement;
  send: (message: StreamInput) => void;
  /** The size of the game's display, which may differ from that of the video; undefined until it is known. */
  display: () => Size | undefined;
  /** Called when the player presses the menu chord. */
  onMenu: () => void;
}

/** Input that is being sent to the game. */
export interface InputCapture {
  /** Presses the held keys and buttons again after the streamer released them. */
  pressAgain(): void;
  /** Releases everything and stops sending. */
  stop(): void;
}

/**
 * Sends all input on `surface` until it is stopped. Releases everything when the surface loses the focus or
 * the page is hidden.
 */
export function captureInput({ surface, video, send, display, onMenu }: InputCaptureOptions): InputCapture {
  const stopped = new AbortController();
  const keyboard = new KeyboardCapture(send, navigator.userAgent);
  const pointer = new PointerCapture(send, () => geometryOf(video, display()));
  const wheel = new WheelCapture(send, navigator.userAgent);
  const gamepad = new GamepadCapture(send);
  const releaseAll = (): void => {
    for (const device of [keyboard, pointer, wheel, gamepad]) device.reset();
    send({ t: "release" });
  };
  listenToKeyboard(surface, keyboard, onMenu, stopped.signal);
  listenToPointer(surface, pointer, stopped.signal);
  listenToWheel(surface, wheel, stopped.signal);
  pollGamepads(gamepad, releaseAll, stopped.signal);
  listenToFocusLoss(surface, releaseAll, stopped.signal);
  return {
    pressAgain() {
      for (const device of [keyboard, pointer]) device.pressAgain();
      gamepad.reset();
    },
    stop() {
      releaseAll();
      stopped.abort();
    },
  };
}

function geometryOf(video: HTMLVideoElement, display: Size | undefined): PictureGeometry {
  const picture = { width: video.videoWidth, height: video.videoHeight };
  return { display: display ?? picture, area: pictureArea(video.getBoundingClientRect(), picture) };
}

function listenToKeyboard(
  surface: HTMLElement,
  keyboard: KeyboardCapture,
  onMenu: () => void,
  signal: AbortSignal,
): void {
  surface.addEventListener(
    "keydown",
    (event) => {
      event.preventDefault();
      if (isMenuChord(event)) onMenu();
      else keyboard.down(event);
    },
    { signal },
  );
  surface.addEventListener(
    "keyup",
    (event) => {
      event.preventDefault();
      keyboard.up(event);
    },
    { signal },
  );
}

function listenToPointer(surface: HTMLElement, pointer: PointerCapture, signal: AbortSignal): void {
  const sample = (event: PointerEvent): void => {
    if (event.isPrimary) pointer.sample(event, document.pointerLockElement === surface);
  };
  surface.addEventListener(
    "pointerdown",
    (event) => {
      // A drag continues outside of the surface.
      if (document.pointerLockElement !== surface) surface.setPointerCapture(event.pointerId);
      sample(event);
    },
    { signal },
  );
  for (const name of ["pointermove", "pointerup"] as const)
    surface.addEventListener(name, sample, { signal });
  surface.addEventListener(
    "pointercancel",
    ({ isPrimary }) => {
      if (isPrimary) pointer.cancel();
    },
    { signal },
  );
  surface.addEventListener(
    "mousedown",
    (event) => {
      // Prevents text selection and scrolling by the middle button, but also the focus, so this sets it.
      event.preventDefault();
      surface.focus({ preventScroll: true });
    },
    { signal },
  );
  surface.addEventListener("mouseup", (event) => event.preventDefault(), { signal }); // The back button of the mouse belongs to the game.
  surface.addEventListener("contextmenu", (event) => event.preventDefault(), { signal });
}

function listenToWheel(surface: HTMLElement, wheel: WheelCapture, signal: AbortSignal): void {
  surface.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      wheel.sample(event);
    },
    { signal, passive: false },
  );
}

/**
 * Reads the gamepads with every frame. It releases everything when the page has lost the focus since the
 * frame before: not every browser sends `blur` then, for example when a window opens above the page.
 */
function pollGamepads(gamepad: GamepadCapture, releaseAll: () => void, signal: AbortSignal): void {
  let hadFocus = document.hasFocus();
  const poll = (): void => {
    if (signal.aborted) return;
    const hasFocus = document.hasFocus();
    if (hadFocus && !hasFocus) releaseAll();
    hadFocus = hasFocus;
    if (hasFocus) gamepad.sample(navigator.getGamepads());
    requestAnimationFrame(poll);
  };
  requestAnimationFrame(poll);
}

function listenToFocusLoss(surface: HTMLElement, releaseAll: () => void, signal: AbortSignal): void {
  surface.addEventListener("blur", releaseAll, { signal });
  window.addEventListener("blur", releaseAll, { signal });
  document.addEventListener(
    "visibilitychange",
    () => {
      if (document.hidden) releaseAll();
    },
    { signal },
  );
  document.addEventListener(
    "pointerlockchange",
    () => {
      if (document.pointerLockElement === null) releaseAll();
    },
    { signal },
  );
}
