import { useCallback, useState } from "react";
import { isApiError } from "../client/apiError.ts";
import type { Attempt } from "../signIn/useProviderRedirect.ts";

/** A change that waits for the player's password. */
export interface PendingChange {
  /**
   * Makes the change with this password. Throws what another try with a password may help against, such as
   * reauthentication_required for a wrong one.
   */
  confirm: (currentPassword: string) => Promise<void>;
  /** Leaves it undone. */
  dismiss: () => void;
}

/** Errors that leave the change waiting for a password; any other belongs to the change itself. */
const repeatable = [
  "reauthentication_required",
  "locked",
  "rate_limited",
  "unreachable",
  "unavailable",
] as const;

/**
 * Returns a function that makes a change of the account, and the change for which the player has to show
 * first that it is them.
 */
export function useReauthentication(): { attempt: Attempt; pending: PendingChange | undefined } {
  const [pending, setPending] = useState<PendingChange>();
  const attempt = useCallback<Attempt>(async (change) => {
    try {
      await change();
      return true;
    } catch (error) {
      if (!isApiError(error, "reauthentication_required")) throw error;
    }
    return new Promise((resolve, reject) => {
      const confirm = async (currentPassword: string): Promise<void> => {
        try {
          await change(currentPassword);
          resolve(true);
        } catch (error) {
          if (isApiError(error, ...repeatable)) throw error;
          reject(error instanceof Error ? error : new Error("The change failed.", { cause: error }));
        }
        setPending(undefined);
      };
      const dismiss = (): void => {
        setPending(undefined);
        resolve(false);
      };
      setPending({ confirm, dismiss });
    });
  }, []);
  return { attempt, pending };
}
