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
 * Returns the maintenance that is going on, if any. It is read now and then and on return to the tab; after a
 * failure the last word stays.
 */
export function useMaintenance(): NonNullable<ServiceStatusResponse["maintenance"]> | undefined {
  return useQuery(serviceStatusQuery).data?.maintenance ?? undefined;
}

/**
 * Reads the status again for all components that show it, as after a launch that was refused for maintenance.
 */
export function refreshServiceStatus(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: serviceStatusQuery.queryKey });
}
