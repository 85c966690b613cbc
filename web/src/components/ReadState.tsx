import type { UseQueryResult } from "@tanstack/react-query";
import { LoadFailure, RefreshFailure, Spinner } from "./Notice.tsx";

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
