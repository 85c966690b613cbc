import { expect } from "chai";
import type { StreamInput } from "#contracts/stream.ts";
import { WheelCapture, type WheelSample } from "#web/stream/wheelCapture.ts";

const [onFirefox, onLinux, onMac] = [
  "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  "Mozilla/5.0 (X11; Linux x86_64)",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)",
];

function sentFor(samples: Partial<WheelSample>[], userAgent = onLinux, isControlHeld = false): StreamInput[] {
  const sent: StreamInput[] = [];
  const wheel = new WheelCapture((message) => void sent.push(message), userAgent);
  for (const sample of samples)
    wheel.sample({ deltaX: 0, deltaY: 0, deltaMode: 0, ctrlKey: false, ...sample }, isControlHeld);
  return sent;
}

describe("WheelCapture", () => {
  it("adds up small touchpad steps to notches", () => {
    expect(sentFor([{ deltaY: 40 }, { deltaY: 40 }, { deltaY: 40 }])).to.deep.equal([
      { t: "wheel", x: 0, y: 1 },
    ]);
  });

  it("counts wheel notches regardless of zoom and the system's scroll distance", () => {
    const zoomedIn = { deltaY: 66.7, wheelDeltaY: -120 };
    const sixLines = { deltaY: -200, wheelDeltaY: 120 };
    const oneLine = { deltaX: 33.3, wheelDeltaX: -120 };
    expect(sentFor([zoomedIn, zoomedIn, sixLines, oneLine])).to.deep.equal([
      { t: "wheel", x: 0, y: 1 },
      { t: "wheel", x: 0, y: 1 },
      { t: "wheel", x: 0, y: -1 },
      { t: "wheel", x: 1, y: 0 },
    ]);
  });

  it("adds up partial wheel notches", () => {
    const part = { deltaY: 50, wheelDeltaY: -60 };
    expect(sentFor([part, part])).to.deep.equal([{ t: "wheel", x: 0, y: 1 }]);
  });

  it("measures a pinch by distance, because Chromium reports each part as a notch with Control", () => {
    const part = { deltaY: -2, wheelDeltaY: 120, ctrlKey: true };
    expect(sentFor(Array.from({ length: 49 }, () => part))).to.deep.equal([]);
    expect(sentFor(Array.from({ length: 50 }, () => part))).to.deep.equal([{ t: "wheel", x: 0, y: -1 }]);
  });

  it("counts notches with a Control key that is held, at any zoom", () => {
    const zoomedIn = { deltaY: 66.7, wheelDeltaY: -120, ctrlKey: true };
    expect(sentFor([zoomedIn, zoomedIn], onLinux, true)).to.deep.equal([
      { t: "wheel", x: 0, y: 1 },
      { t: "wheel", x: 0, y: 1 },
    ]);
  });

  it("turns a wheel down that Chromium turns sideways because Shift is down", () => {
    const shiftKey = true;
    expect(
      sentFor([
        { deltaX: 100, wheelDeltaX: -120, shiftKey },
        { deltaY: 100, shiftKey },
      ]),
    ).to.deep.equal([
      { t: "wheel", x: 0, y: 1 },
      { t: "wheel", x: 0, y: 1 },
    ]);
  });

  it("adds up the fine steps of a wheel, whatever distance the system scrolls", () => {
    const part = { deltaY: 3.3, wheelDeltaY: -15 };
    expect(sentFor(Array.from({ length: 7 }, () => part))).to.deep.equal([]);
    expect(sentFor(Array.from({ length: 8 }, () => part))).to.deep.equal([{ t: "wheel", x: 0, y: 1 }]);
  });

  it("counts one notch for the six lines that Firefox reports on Linux", () => {
    const notch = { deltaY: 6, deltaMode: 1, wheelDeltaY: -120 };
    expect(sentFor([notch, { deltaY: 12, deltaMode: 1, wheelDeltaY: -240 }], onFirefox)).to.deep.equal([
      { t: "wheel", x: 0, y: 1 },
      { t: "wheel", x: 0, y: 2 },
    ]);
  });

  it("measures by distance in Firefox, whose legacy fields of touchpads look like notches", () => {
    const part = { deltaY: 40, wheelDeltaY: -120 };
    expect(sentFor([part, part], onFirefox)).to.deep.equal([]);
    expect(sentFor([part, part, part], onFirefox)).to.deep.equal([{ t: "wheel", x: 0, y: 1 }]);
  });

  it("learns the system's lines per notch from a browser that reports only lines", () => {
    for (const lines of [1, 3, 6, 20]) {
      const turns = [lines, lines, 2 * lines, -lines].map((deltaY) => ({ deltaY, deltaMode: 1 }));
      expect(
        sentFor(turns).map((message) => message.t === "wheel" && message.y),
        `${lines} lines`,
      ).to.deep.equal([1, 1, 2, -1]);
    }
  });

  it("measures by distance on macOS, where legacy fields of touchpads look like notches", () => {
    const part = { deltaY: 40, wheelDeltaY: -120 };
    expect(sentFor([part, part], onMac)).to.deep.equal([]);
    expect(sentFor([part, part, part], onMac)).to.deep.equal([{ t: "wheel", x: 0, y: 1 }]);
  });

  it("converts lines, which Firefox reports, to notches", () => {
    expect(sentFor([{ deltaY: -3, deltaMode: 1 }])).to.deep.equal([{ t: "wheel", x: 0, y: -1 }]);
  });

  it("reads the mode before the distances, because Firefox otherwise reports pixels", () => {
    const sent: StreamInput[] = [];
    let hasAskedForMode = false;
    // Behaves like Firefox for three lines.
    new WheelCapture((message) => void sent.push(message), onLinux).sample({
      ctrlKey: false,
      get deltaMode() {
        hasAskedForMode = true;
        return 1;
      },
      get deltaX() {
        return 0;
      },
      get deltaY() {
        return hasAskedForMode ? 3 : 57;
      },
    });
    expect(sent).to.deep.equal([{ t: "wheel", x: 0, y: 1 }]);
  });

  it("discards a part of a notch when the direction changes", () => {
    expect(sentFor([{ deltaY: 90 }, { deltaY: -100 }])).to.deep.equal([{ t: "wheel", x: 0, y: -1 }]);
  });

  it("sends at most the number of notches that a message allows", () => {
    expect(sentFor([{ deltaX: 10_000 }])).to.deep.equal([{ t: "wheel", x: 16, y: 0 }]);
  });
});
