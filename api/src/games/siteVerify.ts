import { DomainError } from "../errors.ts";
import type { VerifyMode } from "./verificationQueries.ts";

/** What the site does with uploads: it never verifies them, or unless its partner says (not). */
export type SiteVerify = "never" | "off" | "report";

/** The part of the configuration that says it. */
export interface VerifyConfig {
  partner: { verify: SiteVerify };
}

/** Returns what happens to uploads of a game; `wanted` is null unless its partner has chosen. */
export function verifyModeOf({ partner: { verify } }: VerifyConfig, wanted: VerifyMode | null): VerifyMode {
  return verify === "never" ? "off" : (wanted ?? verify);
}

/**
 * Checks that the site verifies versions.
 *
 * @throws conflict
 */
export function requireVerifying({ partner: { verify } }: VerifyConfig): void {
  if (verify !== "never") return;
  throw new DomainError("conflict", {
    message: "This site does not verify games. An admin can allow it with the chart value games.verify.",
  });
}

/**
 * Checks what a partner chooses for a game.
 *
 * @throws conflict when the site does not verify games
 */
export function checkVerify(
  config: VerifyConfig,
  { verify }: { verify?: VerifyMode | null | undefined },
): void {
  if (verify === "report" || verify === "require") requireVerifying(config);
}
