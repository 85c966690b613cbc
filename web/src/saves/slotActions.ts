import type { SlotChoice } from "../launch/playPath.ts";

/** What the slots need of the page. */
export interface SlotActions {
  slug: string;
  /**
   * Undefined for a game that is not offered any more: its saves can be downloaded, renamed and deleted, and
   * nothing else.
   */
  launch: SlotLaunch | undefined;
}

/** Launches the game with a slot. */
export interface SlotLaunch {
  /** Whether a launch is under way. */
  isBusy: boolean;
  /** With which slot the last launch was asked for here; undefined where it was elsewhere on the page. */
  choice: SlotChoice | undefined;
  /** Why that one failed. */
  error: Error | null;
  onContinue: (saveSlotId: string) => void;
  onFresh: () => void;
}
