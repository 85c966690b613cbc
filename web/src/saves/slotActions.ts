/** What the slots need of the page. */
export interface SlotActions {
  slug: string;
  /** Undefined for a game that is not offered any more: its saves can be downloaded, renamed and deleted, and nothing else. */
  launch: SlotLaunch | undefined;
}

/** Launches the game with a slot. */
export interface SlotLaunch {
  /** Whether a launch is under way. */
  isBusy: boolean;
  onContinue: (saveSlotId: string) => void;
  onFresh: () => void;
}
