import { ServiceStatusResponse } from "#contracts/http/service.ts";
import { publicRouteFor, type Route } from "../http/route.ts";
import type { HttpDeps } from "../http/appContext.ts";
import { NoQuery } from "../http/input.ts";
import type { MaintenanceWatch } from "./maintenanceWatch.ts";

/** What the route needs. */
type StatusDeps = HttpDeps & { maintenance: Pick<MaintenanceWatch, "current"> };

const status = publicRouteFor<StatusDeps>()({
  method: "GET",
  path: "/api/status",
  name: "getServiceStatus",
  summary: "Show whether games can be launched",
  description: "Does not depend on any store. Pages show the message as a notice.",
  limits: [],
  query: NoQuery,
  responses: { 200: ServiceStatusResponse },
  errors: [],
  handle: ({ ctx, deps }) => {
    const current = deps.maintenance.current();
    ctx.body = {
      maintenance: current === undefined ? null : { since: current.since, message: current.message ?? null },
    } satisfies ServiceStatusResponse;
  },
});

/** Public information about the service. */
export const maintenanceRoutes: readonly Route<StatusDeps>[] = [status];
