import { apiVersion } from "#contracts/http/version.ts";

type HeaderPairs = readonly (readonly [name: string, value: string])[];

const hstsSeconds = 365 * 24 * 3600;

const everywhere: HeaderPairs = Object.entries({
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
  "API-Version": apiVersion,
});

const everywhereSecure: HeaderPairs = [
  ...everywhere,
  ["Strict-Transport-Security", `max-age=${hstsSeconds}; includeSubDomains`],
];

/**
 * Headers of every response, also of those that the server makes without the application; `isSecure` where
 * browsers come by https.
 */
export function headersOfEveryResponse({ isSecure }: { isSecure: boolean }): HeaderPairs {
  return isSecure ? everywhereSecure : everywhere;
}
