import { useState } from "react";
import { countdownText } from "../components/timeText.ts";
import { useNow } from "../components/useNow.ts";

/** Normally keepalives put off the end long before so little time is left. */
const warnBelowMs = 3 * 60_000;

/** Warns that the session will soon stop as idle because its keepalives do not get through. */
export function ExpiryWarning({ expiresAt }: { expiresAt: string | undefined }) {
  const now = useNow(1_000);
  const left = expiresAt === undefined ? 0 : Date.parse(expiresAt) - now;
  // A platform may have a shorter idle timeout than usual: then the warning begins at half of the time that
  // the last keepalive gained.
  const [gained, setGained] = useState({ expiresAt, left });
  if (gained.expiresAt !== expiresAt) setGained({ expiresAt, left });
  // Without any time gained this clock is far ahead of the server's, and its countdown would be wrong.
  if (expiresAt === undefined || gained.left <= 0 || left >= Math.min(warnBelowMs, gained.left / 2))
    return null;
  return (
    <p className="expiry" role="alert">
      {/* Screen readers are not to read it out every second. */}
      This session will be saved and stopped in <strong aria-live="off">{countdownText(left)}</strong> unless
      Joypod hears from this page. Check your connection.
    </p>
  );
}
