/** What the slots need of the page. */
export interface SlotActions {
  slug: string;
  /** Whether a launch is under way. */
  isBusy: boolean;
  onContinue: (saveSlotId: string) => void;
  onFresh: () => void;
}
