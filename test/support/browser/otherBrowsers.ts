// Scripts for a page that simulate features, or missing features, of other browsers and devices.

/** Headless browsers have no gamepads, so this returns the gamepad that the test sets. */
export const playedGamepad = `
  window.testPad = (south, leftX) => {
    const buttons = Array.from({ length: 17 }, (_, place) => ({ pressed: place === 0 && south, value: place === 0 && south ? 1 : 0 }));
    window.testPads = [{ index: 0, id: "Test pad", mapping: "standard", axes: [leftX, 0, 0, 0], buttons }];
  };
  window.testPads = [null];
  navigator.getGamepads = () => window.testPads;
`;
/** Keeps the newest data channel of the page, which sends the player's input. */
export const keptChannel = `
  const { createDataChannel } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.createDataChannel = function (...options) {
    return window.inputChannel = createDataChannel.apply(this, options);
  };
`;
/** Keeps the last mouse position. */
export const rememberedPointer = `
  addEventListener("pointermove", ({ clientX, clientY }) => { window.lastPointer = { x: clientX, y: clientY }; }, { capture: true });
`;
/** Removes what browsers on phones and tablets do not have. */
export const withoutLocks = `
  for (const name of ["pointerLockElement", "exitPointerLock", "fullscreenElement", "exitFullscreen"]) delete Document.prototype[name];
  for (const name of ["requestPointerLock", "requestFullscreen"]) delete Element.prototype[name];
`;
/** Rejects pointer lock, like browsers right after the player has left it. */
export const refusedLock = `Element.prototype.requestPointerLock = () => Promise.reject(new DOMException("The user has exited the lock before this request was completed.", "SecurityError"))`;
/** Like Safari, focuses not the clicked button but its surroundings. */
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
/** Removes H.264 from the reported codecs. */
export const withoutH264 = `
  const { codecs } = RTCRtpReceiver.getCapabilities("video");
  RTCRtpReceiver.getCapabilities = () => ({ codecs: codecs.filter(({ mimeType }) => !/h264/i.test(mimeType)), headerExtensions: [] });
`;
/** Removes what Firefox 115 or Safari 16 does not have. */
export const olderBrowser = `
  delete AbortSignal.any;
  delete Promise.withResolvers;
  delete RTCRtpReceiver.getCapabilities;
  delete RTCRtpTransceiver.prototype.setCodecPreferences;
  delete URL.canParse;
  delete URL.parse;
`;
/**
 * Translates the page into capitals like Google Translate: replaces each text by elements, also later ones.
 * Numbers stay.
 */
export const translatedPage = `
  const translate = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const texts = [];
    for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) texts.push(text);
    for (const text of texts) {
      const parent = text.parentElement;
      if (parent === null || text.data.trim() === "" || parent.closest("script, style, [translate=no]") !== null) continue;
      if (parent.dataset.translated === text.data) continue;
      const inner = document.createElement("font");
      inner.textContent = inner.dataset.translated = text.data.toUpperCase();
      const outer = document.createElement("font");
      outer.append(inner);
      text.replaceWith(outer);
    }
  };
  translate(document.body);
  new MutationObserver(() => translate(document.body)).observe(document.body, { childList: true, characterData: true, subtree: true });
`;
/** Reports no change of focus or visibility, as with two adjacent windows. */
export const withoutFocusEvents = `
  for (const name of ["focus", "blur", "visibilitychange"])
    addEventListener(name, (event) => event.stopImmediatePropagation(), { capture: true });
`;
/** Like a proxy that passes on the beginning of a response, but buffers its body until it is complete. */
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
