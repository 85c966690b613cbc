import type { Access } from "../http/access.ts";
import { applyRateLimits } from "../http/applyRateLimits.ts";
import { toRoute, type Definition, type Route } from "../http/route.ts";
import { requirePartner, type PartnerDeps, type PartnerPrincipal } from "./requirePartner.ts";

/** What handlers get of the partner. */
interface PartnerCaller {
  partner: PartnerPrincipal;
}

/** Partners may call, by API key; requests are counted by key. */
const partnerAccess: Access<PartnerDeps, PartnerCaller> = {
  name: "partner",
  refusesStrayQuery: true,
  admit: async (ctx, limits) => {
    const partner = await requirePartner(ctx);
    await applyRateLimits(ctx, limits, partner.keyId);
    return { partner };
  },
};

/** Returns a function that makes routes for partners, and whose handlers use `D`. */
export function partnerRouteFor<D>() {
  return <Params, Query, Body>(
    definition: Definition<D & PartnerDeps, PartnerCaller, Params, Query, Body>,
  ): Route<D & PartnerDeps> => toRoute(partnerAccess, definition);
}
