import { useNavigate } from "react-router";
import { playPath, useActiveGameSession } from "./useActiveGameSession.tsx";
import type { Launch } from "./useLaunch.ts";
import { Dialog } from "../components/Dialog.tsx";

/** Another game is being played: go on with it, or end it for the new one. Nothing while there is no conflict. */
export function LaunchConflict({ launch: { launch, stopAndStart, dismiss } }: { launch: Launch }) {
  const { active } = useActiveGameSession();
  const navigate = useNavigate();
  if (launch.state !== "conflict") return null;
  const { activeSessionId, isStopping } = launch;
  const other = active?.sessionId === activeSessionId ? active : undefined;
  const resume = (): void => void navigate(playPath({ sessionId: activeSessionId, gameSlug: other?.gameSlug }));
  return (
    <Dialog
      title="You are already playing"
      onDismiss={dismiss}
      actions={(
        <>
          <button type="button" className="button button-primary" disabled={isStopping} onClick={resume}>Resume it</button>
          <button type="button" className="button" disabled={isStopping} onClick={stopAndStart}>
            {isStopping ? "Saving and stopping…" : "Stop it and start this one"}
          </button>
          <button type="button" className="button button-quiet" disabled={isStopping} onClick={dismiss}>Cancel</button>
        </>
      )}
    >
      <p>
        {other === undefined ? "Another game" : <strong>{other.gameTitle}</strong>} is still running, and only one game can run at a time.
        If you stop it, its progress is saved first.
      </p>
    </Dialog>
  );
}
