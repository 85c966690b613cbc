import type { Clock } from "#runtime/scheduling/clock.ts";

/** A position or distance in pixels of the display. */
export interface Point {
  x: number;
  y: number;
}

interface Area extends Point {
  width: number;
  height: number;
}

/**
 * A visible pointer that the game moved follows the player again after this time. Games that move it back
 * with every frame do so much faster.
 */
const visibleWarpMs = 300;
/** A game that has not moved its hidden pointer for this long may draw its own, which has an edge. */
const hiddenWarpMs = 1_000;

export interface GamePointerOptions {
  clock: Pick<Clock, "monotonicMs">;
  /** Returns whether the game hides its pointer. */
  isHidden: () => boolean;
}

/**
 * Decides how far the display's pointer moves. Games read distances as well as positions, and XTEST reports
 * an absolute position to those that read raw motion as if it were a distance. All movements are therefore
 * relative to the pointer's position, and end where the player points.
 *
 * A game that turns the view moves the pointer back to the middle of the screen. From then on distances
 * between the player's positions count instead, until the game shows its pointer.
 */
export interface GamePointer {
  /**
   * Returns the distance from `position`, where the pointer is, for a player who points at `target`. `shown`
   * is the part of the display that the player sees. With `isEntry` the player's pointer came from somewhere
   * else, so that the distance to its last position means nothing.
   */
  distanceTo(target: Point, isEntry: boolean, position: Point, shown: Area): Point;
  /** Records a movement by distance, as of a locked pointer, that starts at `position`. */
  moveBy(position: Point): void;
  /** Records where the last movement left the pointer. */
  leaveAt(position: Point): void;
}

/** Returns the decisions for one display. */
export function createGamePointer({ clock, isHidden }: GamePointerOptions): GamePointer {
  let left: Point | undefined;
  let target: Point | undefined;
  let area: Area | undefined;
  let isDiverted = false;
  let warpedAt = -Infinity;

  const findWarp = (position: Point) => {
    if (left === undefined || isSame(left, position)) return;
    warpedAt = clock.monotonicMs();
    isDiverted = true;
  };
  return {
    distanceTo(next, isEntry, position, shown) {
      if (area?.width !== shown.width || area.height !== shown.height) {
        // The server moves the pointer into a smaller display.
        left = target = undefined;
        area = { ...shown };
      }
      findWarp(position);
      const last = isEntry ? next : (target ?? next);
      target = next;
      const settledMs = clock.monotonicMs() - warpedAt;
      if (!isHidden() && settledMs > visibleWarpMs) isDiverted = false;
      if (!isDiverted) return between(position, next);
      const moved = between(last, next);
      if (settledMs <= hiddenWarpMs) return moved;
      return {
        x: isAtEdge(next.x - shown.x, shown.width) ? next.x - position.x : moved.x,
        y: isAtEdge(next.y - shown.y, shown.height) ? next.y - position.y : moved.y,
      };
    },
    moveBy(position) {
      findWarp(position);
      target = undefined;
    },
    leaveAt(position) {
      left = position;
    },
  };
}

function isSame(first: Point, second: Point): boolean {
  return first.x === second.x && first.y === second.y;
}

function between(from: Point, to: Point): Point {
  return { x: to.x - from.x, y: to.y - from.y };
}

function isAtEdge(position: number, size: number): boolean {
  return position <= 0 || position >= size - 1;
}
