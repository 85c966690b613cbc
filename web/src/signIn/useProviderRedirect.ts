import { useCallback, useEffect, useRef, useState } from "react";
import { useQueryClient, useQuery } from "@tanstack/react-query";
import { isApiError } from "../client/apiError.ts";
import { beginProviderSignIn, type SignInProvider, listSignInProviders } from "../client/auth.ts";
import { endAuthSession } from "./useAuth.ts";

/** Runs a request that may need the player's password. Resolves with false if they do not enter it. */
export type Attempt = (change: (currentPassword?: string) => Promise<void>) => Promise<boolean>;

const withoutPassword: Attempt = async (change) => {
  await change();
  return true;
};

/** The player and the request of a redirect to a provider. */
export interface ProviderRedirectOptions {
  /**
   * Id of the signed-in player who links a provider or confirms their identity; without one, the redirect
   * signs in whoever returns.
   */
  player?: string;
  attempt?: Attempt;
}

/** Redirects to external providers. */
export interface ProviderRedirect {
  /** Id of the provider that the browser is being redirected to. */
  redirectingTo: string | undefined;
  /** `destination` is the path of this site that the provider returns to. */
  redirect: (provider: Pick<SignInProvider, "id">, destination: string) => void;
  /** Cancels a redirect if the browser has not started to leave. */
  cancel: () => void;
}

/** Sends the player to an external provider, unless they leave the page before its address arrives. */
export function useProviderRedirect(
  onProblem: (problem: unknown) => void,
  { player, attempt = withoutPassword }: ProviderRedirectOptions = {},
): ProviderRedirect {
  const client = useQueryClient();
  const [redirectingTo, setRedirectingTo] = useState<string>();
  const controller = useRef<AbortController>(null);
  useEffect(() => () => controller.current?.abort(), []);
  useEffect(() => {
    // Back in the browser shows the page as it was left.
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
 * Returns the external providers; empty until they are known or if reading them failed, because the password
 * works without them.
 */
export function useSignInProviders(): readonly SignInProvider[] {
  const { data } = useQuery({
    queryKey: ["signInProviders"],
    queryFn: ({ signal }) => listSignInProviders(signal),
  });
  return data ?? [];
}
