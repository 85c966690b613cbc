import { useNow } from "../hooks/useNow.ts";
import { countdownText } from "./wording.ts";

/** Normally the keepalive moves the end away each minute; less than this left means that it does not get through. */
const warnBelowMs = 3 * 60_000;

/** Warns that the session is about to stop as idle. */
export function ExpiryWarning({ expiresAt }: { expiresAt: string | undefined }) {
  const now = useNow(1_000);
  if (expiresAt === undefined) return null;
  const left = Date.parse(expiresAt) - now;
  if (left >= warnBelowMs) return null;
  return (
    <p className="expiry" role="alert">
      {/* Not read out anew every second. */}
      This session will be saved and stopped in <strong aria-live="off">{countdownText(left)}</strong> unless Joypod hears from this page. Check your connection.
    </p>
  );
}
