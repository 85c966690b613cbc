import { expect } from "chai";
import type { StreamInput } from "#contracts/stream.ts";
import { WheelCapture } from "#web/stream/wheelCapture.ts";

function sentFor(samples: { deltaX?: number; deltaY?: number; deltaMode?: number }[]): StreamInput[] {
  const sent: StreamInput[] = [];
  const wheel = new WheelCapture((message) => void sent.push(message));
  for (const sample of samples) wheel.sample({ deltaX: 0, deltaY: 0, deltaMode: 0, ...sample });
  return sent;
}

describe("WheelCapture", () => {
  it("adds up the small steps of a touch pad to notches", () => {
    expect(sentFor([{ deltaY: 40 }, { deltaY: 40 }, { deltaY: 40 }])).to.deep.equal([{ t: "wheel", x: 0, y: 1 }]);
  });

  it("converts lines, which Firefox reports, to notches", () => {
    expect(sentFor([{ deltaY: -3, deltaMode: 1 }])).to.deep.equal([{ t: "wheel", x: 0, y: -1 }]);
  });

  it("asks for the mode before the distances: Firefox tells who asks otherwise of pixels", () => {
    const sent: StreamInput[] = [];
    let hasAskedForMode = false;
    // As Firefox answers for three lines.
    new WheelCapture((message) => void sent.push(message)).sample({
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

  it("sends no more notches than a message may hold", () => {
    expect(sentFor([{ deltaX: 10_000 }])).to.deep.equal([{ t: "wheel", x: 16, y: 0 }]);
  });
});
