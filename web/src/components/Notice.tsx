import type { ReactNode } from "react";
import { sentenceFor } from "../client/apiError.ts";
import { Icon } from "./Icon.tsx";

/** A whole page's or section's state: nothing there, or something went wrong; says what to do next. */
export function Notice({ title, children, actions, tone = "plain", isPage = false }: {
  title: string;
  /** Whether there is nothing else on the page. */
  isPage?: boolean;
  children?: ReactNode;
  actions?: ReactNode;
  tone?: "plain" | "problem";
}) {
  const Heading = isPage ? "h1" : "h2";
  return (
    <section className={`notice notice-${tone}`} role={tone === "problem" ? "alert" : undefined}>
      {tone === "problem" && <Icon name="warning" />}
      <Heading>{title}</Heading>
      {children !== undefined && <div className="notice-text">{children}</div>}
      {actions !== undefined && <div className="actions">{actions}</div>}
    </section>
  );
}

/** What could not be loaded, why, and another try. */
export function LoadFailure({ what, error, onRetry }: { what: string; error: unknown; onRetry: () => void }) {
  return (
    <Notice tone="problem" title={`${what} could not be loaded`} actions={<button className="button" type="button" onClick={onRetry}>Try again</button>}>
      <p>{sentenceFor(error)}</p>
    </Notice>
  );
}

/** Something is on its way. */
export function Spinner({ label }: { label: string }) {
  return (
    <div className="spinner" role="status">
      <span className="spinner-ring" aria-hidden="true" />
      <span>{label}</span>
    </div>
  );
}
