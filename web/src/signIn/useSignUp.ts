import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { SignUpResponse } from "#contracts/http/accountLinks.ts";
import { readSignUp } from "../client/accountLinks.ts";

/** Returns how players get an account on this site, and whether it sends mail. */
export function useSignUp(): UseQueryResult<SignUpResponse> {
  return useQuery({ queryKey: ["signUp"], queryFn: ({ signal }) => readSignUp(signal) });
}
