import { useQuery } from "@tanstack/react-query";
import { listSignInProviders, type SignInProvider } from "../client/auth.ts";

/**
 * Returns the external providers; none until they are known and none when reading them failed, because the
 * password works without them.
 */
export function useSignInProviders(): readonly SignInProvider[] {
  const { data } = useQuery({
    queryKey: ["signInProviders"],
    queryFn: ({ signal }) => listSignInProviders(signal),
  });
  return data ?? [];
}
