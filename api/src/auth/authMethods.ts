import { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { presentSignInMethods } from "./presentProviders.ts";
import type { AuthDeps } from "./authDeps.ts";
import { userRouteFor } from "./userRoute.ts";
import { findSignInMethods } from "./identityQueries.ts";
import { withIssuers } from "./issuer.ts";

const methods = userRouteFor<AuthDeps>()({
  method: "GET",
  path: "/api/auth/methods",
  name: "listSignInMethods",
  summary: "List how one can sign in oneself",
  description:
    "A provider that is not linked is linked by signing in there: `POST /api/auth/signin/:provider`.",
  limits: ["catalog"],
  responses: { 200: SignInMethodsResponse },
  errors: [],
  handle: async ({ ctx, deps: { postgres, oauthProviders }, user }) => {
    ctx.body = presentSignInMethods(
      await findSignInMethods(postgres.pool, user.id),
      await withIssuers(oauthProviders.values()),
    );
  },
});

export const authMethodRoutes = [methods];
