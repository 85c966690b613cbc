import { useEffect, useRef } from "react";
import { sentenceFor } from "../client/apiError.ts";

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
