import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { describeError } from "../client/apiError.ts";
import { Icon } from "./Icon.tsx";

/** Replaces an empty or failed page or section, with what to do next. */
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

/** Reports that something could not be loaded and why, with a button to try again. */
export function LoadFailure({
  title,
  error,
  onRetry,
}: {
  title: string;
  error: unknown;
  onRetry: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Notice
      tone="problem"
      title={title}
      actions={
        <button className="button" type="button" onClick={onRetry}>
          {t("retry")}
        </button>
      }
    >
      <p>{describeError(error)}</p>
    </Notice>
  );
}

/** Reports why the data on the page could not be refreshed, with a button to try again. */
export function RefreshFailure({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useTranslation();
  return (
    <p className="message message-problem" role="alert">
      {describeError(error)}{" "}
      <button type="button" className="text-button" onClick={onRetry}>
        {t("retry")}
      </button>
    </p>
  );
}

/** Shows that something is being loaded or done. */
export function Spinner({ label }: { label: string }) {
  return (
    <div className="spinner" role="status">
      <span className="spinner-ring" aria-hidden="true" />
      <span>{label}</span>
    </div>
  );
}

/**
 * Shows the first loading of a query, or why loading or refreshing it failed; nothing otherwise. Its button
 * repeats all failed queries of the page, because one outage usually stops several.
 */
export function ReadState({
  query: { data, error },
  failureTitle,
}: {
  query: Pick<UseQueryResult, "data" | "error">;
  failureTitle: string;
}) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const retry = (): void =>
    void client.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" });
  if (error !== null)
    return data === undefined ? (
      <LoadFailure title={failureTitle} error={error} onRetry={retry} />
    ) : (
      <RefreshFailure error={error} onRetry={retry} />
    );
  return data === undefined ? <Spinner label={t("loading")} /> : null;
}
