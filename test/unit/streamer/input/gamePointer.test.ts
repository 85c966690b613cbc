import { expect } from "chai";
import { createGamePointer, type GamePointer, type Point } from "#streamer/input/gamePointer.ts";

const display = { x: 0, y: 0, width: 1_280, height: 720 };
const middle: Point = { x: 640, y: 360 };

describe("createGamePointer", () => {
  let now: number;
  let isHidden: boolean;
  let pointer: GamePointer;
  let position: Point;

  beforeEach(() => {
    now = 10_000;
    isHidden = true;
    position = middle;
    pointer = createGamePointer({ clock: { monotonicMs: () => now }, isHidden: () => isHidden });
  });
  const point = (x: number, y: number, isEntry = false): Point => {
    const distance = pointer.distanceTo({ x, y }, isEntry, position, display);
    position = {
      x: Math.min(display.width - 1, Math.max(0, position.x + distance.x)),
      y: Math.min(display.height - 1, Math.max(0, position.y + distance.y)),
    };
    pointer.leaveAt(position);
    return distance;
  };
  const warp = () => {
    position = middle;
  };

  it("ends where the player points", () => {
    expect(point(100, 50, true)).to.deep.equal({ x: -540, y: -310 });
    expect(point(110, 50)).to.deep.equal({ x: 10, y: 0 });
    expect(point(0, 0, true)).to.deep.equal({ x: -110, y: -50 });
    expect(position).to.deep.equal({ x: 0, y: 0 });
  });

  it("moves by the player's distances in a game that moves its pointer back", () => {
    point(100, 50, true);
    for (let x = 110; x < 200; x += 10) {
      warp();
      expect(point(x, 50)).to.deep.equal({ x: 10, y: 0 });
    }
  });

  it("keeps moving by distances, without a jump, while the pointer stays hidden", () => {
    point(100, 50, true);
    warp();
    point(110, 50);
    now += 60_000;
    expect(point(125, 45)).to.deep.equal({ x: 15, y: -5 });
    expect(point(900, 600, true)).to.deep.equal({ x: 0, y: 0 });
    expect(point(901, 600)).to.deep.equal({ x: 1, y: 0 });
  });

  it("follows the player again once the game shows its pointer and has stopped moving it", () => {
    point(100, 50, true);
    warp();
    isHidden = false;
    expect(point(110, 50)).to.deep.equal({ x: 10, y: 0 });
    now += 1_000;
    point(120, 50);
    expect(position).to.deep.equal({ x: 120, y: 50 });
  });

  it("meets the player's pointer at the edge, for games that draw their own and moved it once", () => {
    point(100, 50, true);
    warp();
    point(110, 50);
    now += 2_000;
    point(0, 60);
    expect(position).to.deep.equal({ x: 0, y: 370 });
    point(0, 0);
    point(30, 40);
    expect(position).to.deep.equal({ x: 30, y: 40 });
  });

  it("sees a game that moves the pointer back from a locked one", () => {
    for (let step = 0; step < 2; step++) {
      pointer.moveBy(position);
      pointer.leaveAt({ x: position.x + 5, y: position.y });
      warp();
    }
    expect(point(5, 5, true)).to.deep.equal({ x: 0, y: 0 });
  });

  it("does not take a smaller display for a moved pointer", () => {
    point(1_270, 700, true);
    const smaller = { x: 0, y: 0, width: 640, height: 480 };
    expect(pointer.distanceTo({ x: 100, y: 100 }, false, { x: 639, y: 479 }, smaller)).to.deep.equal({
      x: -539,
      y: -379,
    });
  });

  it("does not take a pointer that the game confines for a moved one", () => {
    point(100, 100, true);
    position = { x: 200, y: 100 };
    pointer.leaveAt(position);
    expect(point(300, 100)).to.deep.equal({ x: 100, y: 0 });
  });
});
