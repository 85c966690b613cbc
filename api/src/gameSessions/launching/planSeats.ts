import {
  noOverhead,
  sessionShare,
  shortageOf,
  type NodeShare,
  type Shortage,
} from "#contracts/crd/capacity.ts";
import { limits } from "#contracts/limits.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import type { LaunchContext, QueuedLaunch, UnseenSession } from "./launchQueries.ts";

/** What a seat is for. */
type SeatNeeds = Pick<UnseenSession, "resources" | "saveVolumeBytes">;

/** Room for more sessions, without that of all known sessions and of seats held for queued launches. */
export class SeatRoom {
  readonly #cluster: ClusterView;
  readonly #waiting: NodeShare[];
  #freeSlots: number;

  constructor(
    cluster: ClusterView,
    {
      activeSessions,
      unseenSessions,
      queue,
    }: Pick<LaunchContext, "activeSessions" | "unseenSessions" | "queue">,
  ) {
    const { sessionLoads, gameNodes } = cluster;
    this.#cluster = cluster;
    this.#freeSlots = sessionLoads.offeredSlots(gameNodes.cache.list()) - activeSessions;
    this.#waiting = [
      ...queue.filter(({ hasSeat }) => hasSeat).map(shareOf),
      ...unseenSessions.filter(({ id }) => !sessionLoads.has(id)).map(shareOf),
      ...sessionLoads.unplaced(),
    ];
  }

  get freeSlots(): number {
    return this.#freeSlots;
  }

  /** Returns what is missing for a seat; undefined if a node has room. Free slots are counted separately. */
  shortageFor(needs: SeatNeeds): Shortage | undefined {
    const { gameNodes, sessionLoads } = this.#cluster;
    return shortageOf(shareOf(needs), {
      gameNodes: gameNodes.cache.list(),
      loads: sessionLoads.placed,
      waiting: this.#waiting,
    });
  }

  /** Takes the room of a seat. */
  take(needs: SeatNeeds): void {
    this.#freeSlots -= 1;
    this.#waiting.unshift(shareOf(needs));
  }
}

/** Who gets a seat. All are ids of launches. */
export interface SeatPlan {
  seated: string[];
  /** Those that fit on no node now and are passed by a later one. */
  passed: string[];
  /** Those that no node is large enough for, and that others have passed for as long as they may. */
  hopeless: string[];
}

/**
 * Distributes the room among the launches that have no seat, in order of arrival. A later launch passes an
 * earlier one only while that fits on no node, and for at most ten minutes; then the room is kept for the
 * earlier one, unless no node is large enough for it.
 */
export function planSeats(
  queue: readonly QueuedLaunch[],
  room: Pick<SeatRoom, "freeSlots" | "shortageFor" | "take">,
): SeatPlan {
  const plan: SeatPlan = { seated: [], passed: [], hopeless: [] };
  const blocked: string[] = [];
  for (const launch of queue.filter(({ hasSeat }) => !hasSeat)) {
    if (room.freeSlots <= 0) break;
    const shortage = room.shortageFor(launch);
    if (shortage === undefined) {
      room.take(launch);
      plan.seated.push(launch.id);
      plan.passed.push(...blocked.splice(0));
      continue;
    }
    blocked.push(launch.id);
    if ((launch.passedSeconds ?? 0) < limits.queue.passingSeconds) continue;
    if (!shortage.isTooLarge) break;
    plan.hopeless.push(launch.id);
  }
  return plan;
}

function shareOf({ resources, saveVolumeBytes }: SeatNeeds): NodeShare {
  return sessionShare({ resources, saveVolumeBytes }, noOverhead);
}
