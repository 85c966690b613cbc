import { useState } from "react";
import { useNow } from "../components/useNow.ts";
import { countdownText } from "../components/timeText.ts";

/** Normally keepalives move the end away long before this is all that is left. */
const warnBelowMs = 3 * 60_000;

/** Warns that the session is about to stop as idle, because its keepalives do not get through. */
export function ExpiryWarning({ expiresAt }: { expiresAt: string | undefined }) {
  const now = useNow(1_000);
  const left = expiresAt === undefined ? 0 : Date.parse(expiresAt) - now;
  // A platform may stop idle sessions sooner than usual: then half of what the last keepalive gave is the limit.
  const [given, setGiven] = useState({ expiresAt, left });
  if (given.expiresAt !== expiresAt) setGiven({ expiresAt, left });
  // A clock that is far ahead of the server's tells nothing.
  if (expiresAt === undefined || given.left <= 0 || left >= Math.min(warnBelowMs, given.left / 2)) return null;
  return (
    <p className="expiry" role="alert">
      {/* Not read out anew every second. */}
      This session will be saved and stopped in <strong aria-live="off">{countdownText(left)}</strong> unless Joypod hears from this page. Check your connection.
    </p>
  );
}
