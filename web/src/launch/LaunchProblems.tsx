import { useNavigate } from "react-router";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { playPath } from "./playPath.ts";
import { useActiveGameSession } from "./useActiveGameSession.ts";
import type { Launch } from "./useLaunch.ts";
import { useEffect, useRef } from "react";
import { sentenceFor } from "../client/apiError.ts";

/**
 * Asks whether to resume the game that is already played or to stop it for the new one. Shows nothing while
 * there is no conflict.
 */
export function LaunchConflict({ launch: { conflict, stopAndStart, dismissConflict } }: { launch: Launch }) {
  const active = useActiveGameSession();
  const navigate = useNavigate();
  if (conflict === undefined) return null;
  const { activeSessionId, isStopping } = conflict;
  const other = active?.sessionId === activeSessionId ? active : undefined;
  const resume = (): void =>
    void navigate(playPath({ sessionId: activeSessionId, gameSlug: other?.gameSlug }));
  return (
    <Dialog
      title="You are already playing"
      isBusy={isStopping}
      onDismiss={dismissConflict}
      actions={
        <>
          <button type="button" className="button button-primary" disabled={isStopping} onClick={resume}>
            Resume it
          </button>
          <ActionButton className="button" isBusy={isStopping} onClick={stopAndStart}>
            {isStopping ? "Saving and stopping…" : "Stop it and start this one"}
          </ActionButton>
          <button
            type="button"
            className="button button-quiet"
            disabled={isStopping}
            onClick={dismissConflict}
          >
            Cancel
          </button>
        </>
      }
    >
      <p>
        {other === undefined ? "Another game" : <strong>{other.gameTitle}</strong>} is still running, and only
        one game can run at a time. If you stop it, its progress is saved first.
      </p>
    </Dialog>
  );
}

/**
 * Says why a launch failed, and comes into view for that: on a small window it may begin beyond the edge,
 * away from the button that was pressed.
 */
export function LaunchFailure({ error }: { error: Error }) {
  const alert = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // What this returns is a promise in newer browsers, which React would take for the effect's end.
    alert.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <p ref={alert} className="message message-problem" role="alert">
      {sentenceFor(error)}
    </p>
  );
}
