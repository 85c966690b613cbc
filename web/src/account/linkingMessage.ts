import { sentenceForSignIn } from "#contracts/http/auth.ts";

/**
 * Returns why a provider's account was not linked, by the `error` in the address that the provider led back
 * to.
 */
export function linkingMessage(error: string): string {
  if (error === "OAuthAccountNotLinked")
    return "That account signs in to another player's account already, so it cannot be linked to yours.";
  if (error === "SessionRequired")
    return "You were signed out, or somebody else was signed in, while you were there. Please try again.";
  return sentenceForSignIn(error, null);
}
