import { bearerTicket } from "#contracts/streamTicket.ts";
import { viewerNameOf, type StreamGrant, type StreamTickets } from "../auth/streamTickets.ts";
import { type UserDeps, userAccess, withValidRenewal } from "../auth/requireUser.ts";
import { forbidden } from "../errors.ts";
import { type Access, toRoute, type Definition, type Route } from "../http/route.ts";
import type { AppContext } from "../http/appContext.ts";
import { applyRateLimits } from "../http/applyRateLimits.ts";
import { HttpError } from "../http/httpError.ts";

/** Dependencies of routes that check who may see a stream. */
export interface ViewerDeps extends UserDeps {
  streamTickets: StreamTickets;
}

/** The viewer passed to handlers: a signed-in player plays, and a ticket contains its holder's role. */
interface ViewerCaller {
  viewer: Pick<StreamGrant, "userId" | "role">;
}

/**
 * Admits signed-in players and holders of a ticket to the session in the path. Players are rate limited by
 * their id, watchers separately.
 */
const viewerAccess: Access<ViewerDeps, ViewerCaller> = {
  name: "viewer",
  refusesStrayQuery: true,
  admit: async (ctx, limits) => {
    const ticket = ticketIn(ctx);
    if (ticket !== undefined) return { viewer: await requireTicket(ctx, ticket, limits) };
    const { user } = await userAccess.admit(ctx, limits);
    return { viewer: { userId: user.id, role: "play" } };
  },
};

/** Accepts tickets from any site's pages, because browsers never add one automatically. */
async function requireTicket(
  ctx: AppContext<ViewerDeps>,
  ticket: string,
  limits: Parameters<typeof applyRateLimits>[1],
): Promise<StreamGrant> {
  const grant = ctx.deps.streamTickets.read(ticket);
  if (grant === undefined)
    throw new HttpError("unauthorized", { headers: { "WWW-Authenticate": 'Bearer realm="joypod streams"' } });
  ctx.state.principal = { kind: "user", id: grant.userId };
  if (ctx.params.sessionId !== grant.sessionId) throw forbidden("This ticket is for another session.");
  await applyRateLimits(ctx, limits, viewerNameOf(grant));
  return grant;
}

function ticketIn(ctx: AppContext<ViewerDeps>): string | undefined {
  const { authorization = [] } = ctx.req.headersDistinct;
  return authorization.length === 1 ? bearerTicket(authorization[0]) : undefined;
}

/** Returns what the request's ticket grants; undefined without a valid one. */
export function readTicketOf(ctx: AppContext<ViewerDeps>): StreamGrant | undefined {
  const ticket = ticketIn(ctx);
  return ticket === undefined ? undefined : ctx.deps.streamTickets.read(ticket);
}

/** Returns a function that creates routes for players and ticket holders, whose handlers use `D`. */
export function viewerRouteFor<D>() {
  return <Params, Query, Body>(
    definition: Definition<D & ViewerDeps, ViewerCaller, Params, Query, Body>,
  ): Route<D & ViewerDeps> => {
    const route: Route<D & ViewerDeps> = toRoute(viewerAccess, definition);
    return withValidRenewal(route);
  };
}
