import type { ReactNode } from "react";
import { sentenceFor } from "../client/apiError.ts";
import { Icon } from "./Icon.tsx";
import type { UseQueryResult } from "@tanstack/react-query";

/** Stands for a page or section that is empty or failed, and says what to do next. */
export function Notice({
  title,
  children,
  actions,
  tone = "plain",
  isPage = false,
}: {
  title: string;
  /** Whether it is the whole page. */
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

/** Says what could not be loaded and why, with a button to try again. */
export function LoadFailure({ what, error, onRetry }: { what: string; error: unknown; onRetry: () => void }) {
  return (
    <Notice
      tone="problem"
      title={`${what} could not be loaded`}
      actions={
        <button className="button" type="button" onClick={onRetry}>
          Try again
        </button>
      }
    >
      <p>{sentenceFor(error)}</p>
    </Notice>
  );
}

/** Says why what is shown could not be read anew, with a button to try again. */
export function RefreshFailure({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <p className="message message-problem" role="alert">
      {sentenceFor(error)}{" "}
      <button type="button" className="text-button" onClick={onRetry}>
        Try again
      </button>
    </p>
  );
}

/** Says that something is being loaded or done. */
export function Spinner({ label }: { label: string }) {
  return (
    <div className="spinner" role="status">
      <span className="spinner-ring" aria-hidden="true" />
      <span>{label}</span>
    </div>
  );
}

/**
 * Says that something is read for the first time, or why it could not be read, or not anew; nothing beside
 * what is right. What was read once stays in use.
 */
export function ReadState({
  query: { data, error, refetch },
  what,
}: {
  query: Pick<UseQueryResult, "data" | "error" | "refetch">;
  what: string;
}) {
  const retry = (): void => void refetch();
  if (error !== null)
    return data === undefined ? (
      <LoadFailure what={what} error={error} onRetry={retry} />
    ) : (
      <RefreshFailure error={error} onRetry={retry} />
    );
  return data === undefined ? <Spinner label="Loading…" /> : null;
}
