import { useEffect, useState } from "react";
import { countdownText } from "../components/timeText.ts";
import { useNow } from "../components/useNow.ts";

/** Shows how long to wait before the next sign-in; calls `onEnd` when the wait is over. */
export function LockCountdown({
  seconds,
  isLocked,
  onEnd,
}: {
  seconds: number;
  isLocked: boolean;
  onEnd: () => void;
}) {
  const [endsAt] = useState(() => Date.now() + seconds * 1_000);
  const left = endsAt - useNow(1_000);
  const isOver = left <= 0;
  useEffect(() => {
    if (isOver) onEnd();
  }, [isOver, onEnd]);
  return (
    <p className="message message-problem" role="alert">
      {isLocked
        ? "Too many failed sign-ins: this account is locked for your safety. "
        : "Too many attempts from here. "}
      {/* Screen readers are not to read it out every second. */}
      <span aria-live="off">
        Try again in <strong>{countdownText(left)}</strong>.
      </span>
    </p>
  );
}
