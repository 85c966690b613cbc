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

/** Returns the player's saved choice of quality, with the site's maximum. */
export function useQualityChoice(): UseQueryResult<StreamQualityResponse> {
  return useQuery({ queryKey, queryFn: ({ signal }) => readStreamQuality(signal) });
}

/**
 * Returns a mutation that saves a choice for later launches. The page shows the choice at once, and the saved
 * one again after a failure.
 */
export function useKeepQuality(): UseMutationResult<StreamQualityResponse, Error, QualityRequest> {
  const client = useQueryClient();
  const { auth } = useAuth();
  return useMutation({
    // One after another, so that the last choice wins.
    scope: { id: "streamQuality" },
    mutationKey: queryKey,
    mutationFn: (quality: QualityRequest) =>
      keepStreamQuality(auth.state === "signedIn" ? auth.user.id : undefined, quality),
    onMutate: async (quality) => {
      await client.cancelQueries({ queryKey });
      client.setQueryData<StreamQualityResponse>(queryKey, (shown) => shown && { ...shown, quality });
    },
    // The page already shows a later choice that is still to be saved.
    onError: () =>
      client.isMutating({ mutationKey: queryKey }) === 1 ? client.invalidateQueries({ queryKey }) : undefined,
  });
}
