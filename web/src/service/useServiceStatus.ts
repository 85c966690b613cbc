import { queryOptions, useQuery, type QueryClient } from "@tanstack/react-query";
import type { ServiceStatusResponse } from "#contracts/http/service.ts";
import { readServiceStatus } from "../client/service.ts";

const serviceStatusQuery = queryOptions({
  queryKey: ["serviceStatus"],
  queryFn: ({ signal }) => readServiceStatus(signal),
  refetchInterval: 30_000,
  refetchOnWindowFocus: true,
});

/**
 * Returns the current maintenance, if any. It is read every 30 s and when the tab gets the focus; after a
 * failure the last result stays.
 */
export function useMaintenance(): NonNullable<ServiceStatusResponse["maintenance"]> | undefined {
  return useQuery(serviceStatusQuery).data?.maintenance ?? undefined;
}

/** Reads the status again for all components that show it, such as after a launch refused for maintenance. */
export function refreshServiceStatus(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: serviceStatusQuery.queryKey });
}
