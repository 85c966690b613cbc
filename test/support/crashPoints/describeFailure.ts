import { AssertionError } from "chai";

/** Returns why a life failed, with both sides of a comparison. */
export function describeFailure(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (!(cause instanceof AssertionError)) return cause.message;
  const { actual, expected } = cause as { actual?: unknown; expected?: unknown };
  return `${cause.message}\nactual   ${JSON.stringify(actual)}\nexpected ${JSON.stringify(expected)}`;
}
