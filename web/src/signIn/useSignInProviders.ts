import { useEffect, useState } from "react";
import { listSignInProviders, type SignInProvider } from "../client/api.ts";

/** The external providers; none until they are known, and none when they cannot be asked for: the password serves all the same. */
export function useSignInProviders(): readonly SignInProvider[] {
  const [providers, setProviders] = useState<readonly SignInProvider[]>([]);
  useEffect(() => {
    const aborter = new AbortController();
    listSignInProviders(aborter.signal).then(setProviders, () => undefined);
    return () => aborter.abort();
  }, []);
  return providers;
}
