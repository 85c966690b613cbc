import { useState } from "react";
import { useNow } from "../hooks/useNow.ts";
import { countdownText } from "./wording.ts";

/** Normally keepalives move the end away long before this is all that is left. */
const warnBelowMs = 3 * 60_000;

/** Warns that the session is about to stop as idle, because its keepalives do not get through. */
export function ExpiryWarning({ expiresAt }: { expiresAt: string | undefined }) {
  const now = useNow(1_000);
  const left = expiresAt === undefined ? 0 : Date.parse(expiresAt) - now;
  // A platform may stop idle sessions sooner than usual: then half of its time is the limit.
  const [longestLeft, setLongestLeft] = useState(left);
  if (left > longestLeft) setLongestLeft(left);
  // A clock that is far ahead of the server's tells nothing.
  if (expiresAt === undefined || longestLeft <= 0 || left >= Math.min(warnBelowMs, longestLeft / 2)) return null;
  return (
    <p className="expiry" role="alert">
      {/* Not read out anew every second. */}
      This session will be saved and stopped in <strong aria-live="off">{countdownText(left)}</strong> unless Joypod hears from this page. Check your connection.
    </p>
  );
}
