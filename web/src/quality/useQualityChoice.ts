import {
  useMutation,
  useQuery,
  useQueryClient,
  type UseMutationResult,
  type UseQueryResult,
} from "@tanstack/react-query";
import type { QualityRequest, StreamQualityResponse } from "#contracts/streamQuality.ts";
import { keepStreamQuality, readStreamQuality } from "../client/account.ts";
import { useAuth } from "../signIn/useAuth.ts";

const queryKey = ["streamQuality"];

/** Returns the player's kept choice of quality, with the site's maximum. */
export function useQualityChoice(): UseQueryResult<StreamQualityResponse> {
  return useQuery({ queryKey, queryFn: ({ signal }) => readStreamQuality(signal) });
}

/**
 * Returns a mutation that keeps a choice for the launches to come. It is on the page at once, and goes back
 * when it could not be kept.
 */
export function useKeepQuality(): UseMutationResult<StreamQualityResponse, Error, QualityRequest> {
  const client = useQueryClient();
  const { auth } = useAuth();
  return useMutation({
    // One after another, so that the last choice is the one that is kept.
    scope: { id: "streamQuality" },
    mutationKey: queryKey,
    mutationFn: (quality: QualityRequest) =>
      keepStreamQuality(auth.state === "signedIn" ? auth.user.id : undefined, quality),
    onMutate: async (quality) => {
      await client.cancelQueries({ queryKey });
      client.setQueryData<StreamQualityResponse>(queryKey, (shown) => shown && { ...shown, quality });
    },
    // A choice that waits for this one is on the page already, and stays there.
    onError: () =>
      client.isMutating({ mutationKey: queryKey }) === 1 ? client.invalidateQueries({ queryKey }) : undefined,
  });
}
