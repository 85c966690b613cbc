import { heldEveryMs, maxHeldKeys, type StreamInput } from "#contracts/stream.ts";
import { ComposedKeys } from "./composedKeys.ts";
import { GamepadCapture, type UnknownGamepad } from "./gamepadCapture.ts";
import { playRumble, type Rumble } from "./gamepadRumble.ts";
import { KeyboardCapture, isMenuChord } from "./keyboardCapture.ts";
import { pictureArea, type Area } from "./pictureArea.ts";
import { backButton, forwardButton, movementUnitOf, PointerCapture } from "./pointerCapture.ts";
import { lockOnClick, watchLockEscape } from "./pointerLock.ts";
import { WheelCapture } from "./wheelCapture.ts";

export interface InputCaptureOptions {
  /** Contains the video, and has the focus while the game receives the input. */
  surface: HTMLElement;
  video: HTMLVideoElement;
  send: (message: StreamInput) => void;
  /** Returns whether a click on the picture locks the pointer. */
  locksOnClick: () => boolean;
  /** Called when the player presses the menu chord. */
  onMenu: () => void;
  /** Called once for each kind of gamepad whose layout is not known. */
  onUnknownGamepad: (gamepad: UnknownGamepad) => void;
}

/** Input that is being sent to the game. */
export interface InputCapture {
  /** Presses the held keys and buttons again after the streamer released them. */
  pressAgain(): void;
  /** Vibrates one of the player's gamepads. */
  rumble(notice: Rumble): void;
  /** Releases everything and stops sending. */
  stop(): void;
}

/** The parts that listeners need. */
interface Capture {
  surface: HTMLElement;
  keyboard: KeyboardCapture;
  composed: ComposedKeys;
  pointer: PointerCapture;
  wheel: WheelCapture;
  locksOnClick: () => boolean;
  onMenu: () => void;
  /** Releases everything: it is unknown what the player holds from now on. */
  releaseAll: () => void;
  /** Ends with the capture. */
  signal: AbortSignal;
}

/**
 * Sends all input on `surface` until it is stopped. Releases everything when the surface loses the focus or
 * the page is hidden.
 */
export function captureInput({
  surface,
  video,
  send,
  locksOnClick,
  onMenu,
  onUnknownGamepad,
}: InputCaptureOptions): InputCapture {
  const stopped = new AbortController();
  const { signal } = stopped;
  const keyboard = new KeyboardCapture(send, navigator.userAgent);
  const composed = new ComposedKeys({
    down: (press) => keyboard.down(press),
    type: (s) => send({ t: "text", s }),
  });
  const pointer = new PointerCapture(send, {
    area: () => areaOf(video),
    movementUnit: () => movementUnitOf(navigator.userAgent, window.devicePixelRatio),
  });
  const wheel = new WheelCapture(send, navigator.userAgent);
  const gamepad = new GamepadCapture(send, onUnknownGamepad);
  const releaseAll = (): void => {
    for (const device of [keyboard, composed, pointer, wheel, gamepad]) device.reset();
    send({ t: "release" });
  };
  const capture: Capture = {
    surface,
    keyboard,
    composed,
    pointer,
    wheel,
    locksOnClick,
    onMenu,
    releaseAll,
    signal,
  };
  listenToKeyboard(capture);
  listenToPointer(capture);
  listenToWheel(capture);
  pollGamepads(gamepad, releaseAll, signal);
  listenToFocus(capture, () => {
    for (const device of [composed, pointer, wheel, gamepad]) device.reset();
    keyboard.suspend();
    send({ t: "release" });
  });
  refuseDrops(signal);
  repeatHeld(capture, send);
  keyboard.pressAgain(); // The display may have other locks since an earlier page.
  watchLockEscape(() => {
    for (const d of [1, 0] as const) send({ t: "key", c: "Escape", d });
  }, signal);
  return {
    pressAgain() {
      for (const device of [keyboard, pointer]) device.pressAgain();
      gamepad.reset();
    },
    rumble(notice) {
      const pad = navigator.getGamepads()[gamepad.indexOf(notice.i) ?? -1];
      if (pad) playRumble(pad, notice);
    },
    stop() {
      releaseAll();
      stopped.abort();
    },
  };
}

function areaOf(video: HTMLVideoElement): Area {
  const { videoWidth: width, videoHeight: height } = video;
  return pictureArea(video.getBoundingClientRect(), { width, height });
}

/**
 * Reads the keys of the whole page: those of the surface are the game's, and the others end what the game has
 * as held.
 */
function listenToKeyboard({ surface, keyboard, composed, onMenu, signal }: Capture): void {
  const options = { capture: true, signal };
  window.addEventListener(
    "keydown",
    (event) => {
      if (!takesKey(surface, event)) {
        keyboard.downOnPage(event);
        return;
      }
      const isChord = isMenuChord(event);
      if (isChord) onMenu();
      if (isChord || !composed.down(event)) event.preventDefault();
    },
    options,
  );
  window.addEventListener(
    "keypress",
    (event) => {
      if (!isInside(surface, event)) return;
      event.preventDefault();
      composed.typed(event.key);
    },
    options,
  );
  window.addEventListener(
    "keyup",
    (event) => {
      if (isInside(surface, event)) event.preventDefault();
      composed.settle();
      keyboard.up(event);
    },
    options,
  );
}

function isInside(surface: HTMLElement, { target }: Event): boolean {
  return target instanceof Node && surface.contains(target);
}

/**
 * Returns whether a key is the game's. If the focus was lost with the element that had it, browsers send keys
 * to the body; this gives it back to the surface, which fails while a dialog is open.
 */
function takesKey(surface: HTMLElement, event: KeyboardEvent): boolean {
  if (isInside(surface, event)) return true;
  if (event.target !== document.body && event.target !== document.documentElement) return false;
  surface.focus({ preventScroll: true });
  return document.activeElement === surface;
}

/** Reads the pointer on the surface, and the buttons and modifiers of its events on the rest of the page. */
function listenToPointer(capture: Capture): void {
  const { surface, keyboard, pointer, locksOnClick, releaseAll, signal } = capture;
  const isLockable = (): boolean => document.pointerLockElement === null && locksOnClick();
  const sample = (event: PointerEvent): void => {
    if (!event.isPrimary) return;
    const isOnSurface = isInside(surface, event);
    keyboard.compare(event, isOnSurface);
    // A finger or pen comes from elsewhere, although it did not leave.
    if (event.type === "pointerdown" && event.pointerType !== "mouse") pointer.leave();
    if (isOnSurface) pointer.sample(event, document.pointerLockElement === surface);
    else pointer.sampleOnPage(event);
  };
  for (const name of ["pointerdown", "pointermove", "pointerup"] as const)
    window.addEventListener(name, sample, { capture: true, signal });
  surface.addEventListener(
    "pointerdown",
    (event) => {
      if (document.pointerLockElement !== surface) captureDrag(surface, event.pointerId);
      if (event.isPrimary && event.pointerType === "mouse" && isLockable())
        void lockOnClick(surface, () => isLockable() && document.activeElement === surface);
    },
    { signal },
  );
  surface.addEventListener("pointerleave", () => pointer.leave(), { signal });
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
  releaseBeforeMenu(surface, releaseAll, signal);
  keepHistory(surface, pointer, signal);
  // The back button of the mouse belongs to the game, and the middle button pastes nothing.
  for (const name of ["mouseup", "auxclick", "contextmenu"] as const)
    surface.addEventListener(name, (event) => event.preventDefault(), { signal });
}

/**
 * Releases everything when Firefox opens its menu, which pages cannot prevent while Shift is down: keys go up
 * behind it. Modifiers and repeated keys are pressed again with the next event if there is no menu.
 */
function releaseBeforeMenu(surface: HTMLElement, releaseAll: () => void, signal: AbortSignal): void {
  if (!navigator.userAgent.includes("Firefox/")) return;
  // Windows opens menus when the button goes up.
  const name = navigator.userAgent.includes("Windows") ? "pointerup" : "pointerdown";
  surface.addEventListener(
    name,
    ({ button, shiftKey }) => {
      if (button === 2 && shiftKey && document.pointerLockElement === null) releaseAll();
    },
    { signal },
  );
}

/**
 * Gives the back and forward buttons of the mouse to the game in Firefox on Linux, which reports no press of
 * them and leaves the page. Its own buttons work: the pointer is not on the surface then.
 */
function keepHistory(surface: HTMLElement, pointer: PointerCapture, signal: AbortSignal): void {
  if (!/Linux.*Firefox\//.test(navigator.userAgent) || !("navigation" in window)) return;
  const { navigation } = window;
  navigation.addEventListener(
    "navigate",
    (event) => {
      const { navigationType, destination } = event;
      if (navigationType !== "traverse" || !event.cancelable || !surface.matches(":hover")) return;
      event.preventDefault();
      pointer.tap(destination.index < (navigation.currentEntry?.index ?? 0) ? backButton : forwardButton);
    },
    { signal },
  );
}

/** Lets a drag continue outside of the surface. Fails when the finger is already up. */
function captureDrag(surface: HTMLElement, pointerId: number): void {
  try {
    surface.setPointerCapture(pointerId);
  } catch {
    // The pointer is gone, and its button with it.
  }
}

/** Reads the wheel on the surface. With Control, which games use as a key, it does not zoom the page. */
function listenToWheel({ surface, keyboard, wheel, signal }: Capture): void {
  window.addEventListener(
    "wheel",
    (event) => {
      const isOnSurface = isInside(surface, event);
      if (isOnSurface || event.ctrlKey) event.preventDefault();
      if (isOnSurface) wheel.sample(event, keyboard.isHeld("ctrlKey"));
    },
    { capture: true, passive: false, signal },
  );
  // Safari's event for a pinch.
  window.addEventListener("gesturestart", (event) => event.preventDefault(), { signal });
}

/** Refuses what is dragged onto the page: the browser would leave the game to open a dropped file. */
function refuseDrops(signal: AbortSignal): void {
  const refuse = (event: DragEvent): void => {
    event.preventDefault();
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = "none";
  };
  for (const name of ["dragover", "drop"] as const) window.addEventListener(name, refuse, { signal });
  window.addEventListener("dragstart", (event) => event.preventDefault(), { signal });
}

/**
 * Repeats what is held while the page has the focus. The streamer releases everything when this stops: a
 * dialog of the browser stops the page, and the keys go up behind it.
 */
function repeatHeld({ keyboard, pointer, signal }: Capture, send: (message: StreamInput) => void): void {
  const timer = setInterval(() => {
    const codes = keyboard.heldCodes();
    if (document.hasFocus() && codes.length <= maxHeldKeys) send({ t: "held", k: codes, b: pointer.buttons });
  }, heldEveryMs);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
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

/**
 * Releases everything when the page loses the focus, and calls `leaveSurface` when it moves from the surface
 * to another part of the page.
 */
function listenToFocus(
  { surface, keyboard, pointer, releaseAll, signal }: Capture,
  leaveSurface: () => void,
): void {
  surface.addEventListener(
    "blur",
    () => {
      if (document.hasFocus()) leaveSurface();
      else releaseAll();
    },
    { signal },
  );
  surface.addEventListener("focus", () => keyboard.resume(), { signal });
  window.addEventListener("blur", releaseAll, { signal });
  // The browser may ask whether to leave. The page does not see what happens meanwhile.
  window.addEventListener("beforeunload", releaseAll, { signal });
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
      // A button may go up over another window then.
      if (document.pointerLockElement === null) pointer.cancel();
    },
    { signal },
  );
}
