import { useCallback, useEffect, useRef, useState } from "react";
import { useQueryClient, useQuery } from "@tanstack/react-query";
import { isApiError } from "../client/apiError.ts";
import { beginProviderSignIn, type SignInProvider, listSignInProviders } from "../client/auth.ts";
import { endAuthSession } from "./useAuth.ts";

/** Runs a request that may need the player's password; resolves with false when they would not give it. */
export type Attempt = (change: (currentPassword?: string) => Promise<void>) => Promise<boolean>;

const withoutPassword: Attempt = async (change) => {
  await change();
  return true;
};

/** For whom the way to a provider is. */
export interface ProviderRedirectOptions {
  /**
   * Id of the signed-in player who wants to link a provider, or to show that they are here; without one it is
   * to sign in whoever comes back.
   */
  player?: string;
  attempt?: Attempt;
}

/** The way to external providers. */
export interface ProviderRedirect {
  /** Id of the provider that the browser is on its way to. */
  redirectingTo: string | undefined;
  /** `destination` is the path of this site that the provider leads back to. */
  redirect: (provider: Pick<SignInProvider, "id">, destination: string) => void;
  /** Stays here, if the browser has not begun to leave. */
  cancel: () => void;
}

/** Sends the player to an external provider, unless they leave the page before its address has come. */
export function useProviderRedirect(
  onProblem: (problem: unknown) => void,
  { player, attempt = withoutPassword }: ProviderRedirectOptions = {},
): ProviderRedirect {
  const client = useQueryClient();
  const [redirectingTo, setRedirectingTo] = useState<string>();
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  useEffect(() => {
    // The browser's Back shows the page as it was left.
    const reset = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) setRedirectingTo(undefined);
    };
    window.addEventListener("pageshow", reset);
    return () => window.removeEventListener("pageshow", reset);
  }, []);

  const begin = useCallback(
    async (id: string, destination: string): Promise<void> => {
      const { signal } = (controller.current = new AbortController());
      setRedirectingTo(id);
      onProblem(undefined);
      try {
        const callbackUrl = new URL(destination, location.origin).href;
        const isLeaving = await attempt(async (currentPassword) => {
          const address = await beginProviderSignIn(id, callbackUrl, { currentPassword, player, signal });
          signal.throwIfAborted();
          location.assign(address);
        });
        if (!isLeaving) setRedirectingTo(undefined);
      } catch (error) {
        if (signal.aborted) return;
        if (isApiError(error, "unauthorized")) endAuthSession(client, { isExpired: true });
        onProblem(error);
        setRedirectingTo(undefined);
      }
    },
    [client, onProblem, player, attempt],
  );

  const redirect = useCallback(
    ({ id }: Pick<SignInProvider, "id">, destination: string) => void begin(id, destination),
    [begin],
  );
  const cancel = useCallback(() => {
    controller.current?.abort();
    setRedirectingTo(undefined);
  }, []);
  return { redirectingTo, redirect, cancel };
}

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
