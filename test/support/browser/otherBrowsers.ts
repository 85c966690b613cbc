// Scripts for a page: what other browsers and devices have, or have not, beside the one that runs the tests.

/** Headless browsers have no gamepads: the page's own look at them is answered with what the test holds. */
export const playedGamepad = `
  window.testPad = (south, leftX) => {
    const buttons = Array.from({ length: 17 }, (_, place) => ({ pressed: place === 0 && south, value: place === 0 && south ? 1 : 0 }));
    window.testPads = [{ index: 0, mapping: "standard", axes: [leftX, 0, 0, 0], buttons }];
  };
  window.testPads = [null];
  navigator.getGamepads = () => window.testPads;
`;
/** Keeps the data channel that the page made last, by which it sends what the player does. */
export const keptChannel = `
  const { createDataChannel } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.createDataChannel = function (...options) {
    return window.inputChannel = createDataChannel.apply(this, options);
  };
`;
/** Keeps where the mouse was last. */
export const rememberedPointer = `
  addEventListener("pointermove", ({ clientX, clientY }) => { window.lastPointer = { x: clientX, y: clientY }; }, { capture: true });
`;
/** What browsers of phones and tablets do not have. */
export const withoutLocks = `
  for (const name of ["pointerLockElement", "exitPointerLock", "fullscreenElement", "exitFullscreen"]) delete Document.prototype[name];
  for (const name of ["requestPointerLock", "requestFullscreen"]) delete Element.prototype[name];
`;
/** As browsers do right after the player left the lock. */
export const refusedLock = `Element.prototype.requestPointerLock = () => Promise.reject(new DOMException("The user has exited the lock before this request was completed.", "SecurityError"))`;
/** As in Safari, which gives the focus not to a button that is clicked but to what is around it. */
export const unfocusedButtons = `
  addEventListener("mousedown", (event) => {
    const button = event.target.closest("button");
    if (button === null) return;
    event.preventDefault();
    const around = button.closest("[tabindex]");
    if (around === null) document.activeElement.blur();
    else around.focus();
  }, { capture: true });
`;
/** What a browser without a decoder of H.264 says of itself. */
export const withoutH264 = `
  const { codecs } = RTCRtpReceiver.getCapabilities("video");
  RTCRtpReceiver.getCapabilities = () => ({ codecs: codecs.filter(({ mimeType }) => !/h264/i.test(mimeType)), headerExtensions: [] });
`;
/** What Firefox 115, or Safari 16, does not have. */
export const olderBrowser = `
  delete AbortSignal.any;
  delete Promise.withResolvers;
  delete RTCRtpReceiver.getCapabilities;
  delete RTCRtpTransceiver.prototype.setCodecPreferences;
  delete URL.canParse;
  delete URL.parse;
`;
/** A browser that reports no change of focus or visibility, as with two windows next to each other. */
export const withoutFocusEvents = `
  for (const name of ["focus", "blur", "visibilitychange"])
    addEventListener(name, (event) => event.stopImmediatePropagation(), { capture: true });
`;
/** As behind a proxy that lets a response begin, and keeps its body until it is whole. */
export const heldEvents = `
  EventSource = class extends EventTarget {
    readyState = 1;
    constructor() {
      super();
      setTimeout(() => this.dispatchEvent(new Event("open")));
    }
    close() {}
  };
`;
