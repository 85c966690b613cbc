import { Dialog } from "../components/Dialog.tsx";

/** Asks whether the game is to be stopped. */
export function StopDialog({
  title,
  onStop,
  onDismiss,
}: {
  title: string;
  onStop: () => void;
  onDismiss: () => void;
}) {
  return (
    <Dialog
      title={`Stop ${title}?`}
      onDismiss={onDismiss}
      actions={
        <>
          <button type="button" className="button button-primary" onClick={onStop}>
            Save and stop
          </button>
          <button type="button" className="button" onClick={onDismiss}>
            Keep playing
          </button>
        </>
      }
    >
      <p>
        The game closes and its save files are stored in your slot. What the game itself has not saved yet is
        lost.
      </p>
    </Dialog>
  );
}
