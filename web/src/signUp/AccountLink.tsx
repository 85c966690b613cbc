import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { useQuery } from "@tanstack/react-query";
import type { AccountLinkPurpose, AccountLinkResponse } from "#contracts/http/accountLinks.ts";
import { isApiError, ApiError } from "../client/apiError.ts";
import { readAccountLink } from "../client/accountLinks.ts";
import { ReadState } from "../components/Notice.tsx";
import { useAuth } from "../signIn/useAuth.ts";

interface AccountLinkProps {
  purposes: readonly AccountLinkPurpose[];
  /** Shows the form for a valid link. */
  children: (link: AccountLinkResponse & { token: string }) => ReactNode;
}

/** Reads the one-time link in the page's address, and says so if it is not valid any more. */
export function AccountLink({ purposes, children }: AccountLinkProps) {
  const { t } = useTranslation("signUp");
  const token = location.hash.slice(1);
  const link = useQuery({
    queryKey: ["accountLink", token],
    queryFn: async ({ signal }) => {
      const found = await readAccountLink(token, signal);
      if (!purposes.includes(found.purpose))
        throw new ApiError("invalid_link", "The link is for another page.");
      return found;
    },
    // A form must not vanish when its link was used by another tab; the response to the form says so.
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
  if (isApiError(link.error, "invalid_link", "invalid_request"))
    return (
      <p className="message message-problem" role="alert">
        {t("invalidLink")}
      </p>
    );
  return (
    <>
      <ReadState query={link} failureTitle={t("linkFailed")} />
      {link.data !== undefined && children({ ...link.data, token })}
    </>
  );
}

/** Returns a function that opens the catalogue for the player whom a link has just signed in. */
export function useEnter(): () => Promise<void> {
  const navigate = useNavigate();
  const { refresh } = useAuth();
  return async () => {
    await refresh();
    await navigate("/", { replace: true });
  };
}
