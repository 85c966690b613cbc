/** Whether two addresses name one issuer: it may write a trailing slash where the configuration has none. */
export function isSameIssuer(one: string, other: string): boolean {
  return normalized(one) === normalized(other);
}

function normalized(issuer: string): string {
  return URL.canParse(issuer) ? new URL(issuer).href : issuer;
}
