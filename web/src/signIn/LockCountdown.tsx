import { useEffect, useState } from "react";
import { useNow } from "../components/useNow.ts";
import { countdownText } from "../components/timeText.ts";

/** How long to wait before the next sign-in; calls `onEnd` once it is over. */
export function LockCountdown({ seconds, isLocked, onEnd }: { seconds: number; isLocked: boolean; onEnd: () => void }) {
  const [endsAt] = useState(() => Date.now() + seconds * 1_000);
  const left = endsAt - useNow(1_000);
  const isOver = left <= 0;
  useEffect(() => {
    if (isOver) onEnd();
  }, [isOver, onEnd]);
  return (
    <p className="message message-problem" role="alert">
      {isLocked ? "Too many failed sign-ins: this account is locked for your safety. " : "Too many attempts from here. "}
      {/* Not read out anew every second. */}
      <span aria-live="off">Try again in <strong>{countdownText(left)}</strong>.</span>
    </p>
  );
}
