import type { AppContext } from "../http/appContext.ts";
import type { CsrfTokens } from "./csrfTokens.ts";
import type { OAuthProvider } from "./oauth/oauthProvider.ts";
import type { OAuthTransactions } from "./oauth/oauthTransactions.ts";
import type { UserDeps } from "./requireUser.ts";
import type { SignInDeps } from "./signIn.ts";
import type { IdentitySignInDeps } from "./signInWithIdentity.ts";

/** What the routes of signing in and out need. */
export type AuthDeps = UserDeps &
  SignInDeps &
  IdentitySignInDeps & {
    config: {
      /** The page that players sign in on; undefined for our own plain form. */
      signInPageUrl: string | undefined;
      defaultAvatarUrl: string;
    };
    csrfTokens: CsrfTokens;
    /** External providers of sign-ins, by id. */
    oauthProviders: ReadonlyMap<string, OAuthProvider>;
    oauthTransactions: OAuthTransactions;
  };

/** The context of a request that signs somebody in or out. */
export type AuthContext = AppContext<AuthDeps>;
