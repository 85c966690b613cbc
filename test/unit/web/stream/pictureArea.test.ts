import { expect } from "chai";
import { pointerScale } from "#contracts/stream.ts";
import { pictureArea, toPointerCoordinates } from "#web/stream/pictureArea.ts";

const picture = { width: 1280, height: 720 };

describe("pictureArea", () => {
  it("puts bars above and below in a tall box", () => {
    expect(pictureArea({ left: 10, top: 20, width: 640, height: 1000 }, picture)).to.deep.equal({
      left: 10,
      top: 340,
      width: 640,
      height: 360,
    });
  });

  it("puts bars left and right in a wide box", () => {
    expect(pictureArea({ left: 0, top: 0, width: 2000, height: 720 }, picture)).to.deep.equal({
      left: 360,
      top: 0,
      width: 1280,
      height: 720,
    });
  });

  it("returns the whole box while the picture's size is unknown", () => {
    const box = { left: 0, top: 0, width: 300, height: 200 };
    expect(pictureArea(box, { width: 0, height: 0 })).to.deep.equal(box);
  });
});

describe("toPointerCoordinates", () => {
  const area = { left: 0, top: 340, width: 640, height: 360 };

  it("measures from the corner of the picture, not of the box", () => {
    expect(toPointerCoordinates({ x: 0, y: 340 }, area)).to.deep.equal({ x: 0, y: 0 });
    expect(toPointerCoordinates({ x: 320, y: 520 }, area)).to.deep.equal({ x: 32_768, y: 32_768 });
  });

  it("maps a point on the bars to the nearest edge", () => {
    expect(toPointerCoordinates({ x: 700, y: 10 }, area)).to.deep.equal({ x: pointerScale, y: 0 });
  });

  it("returns the origin for an area without any size", () => {
    expect(toPointerCoordinates({ x: 5, y: 5 }, { left: 0, top: 0, width: 0, height: 0 })).to.deep.equal({
      x: 0,
      y: 0,
    });
  });
});
