/** Date headers tell whole seconds. */
const dateUnitMs = 1_000;

/**
 * Returns by how many milliseconds this machine's clock is at least ahead of the one that wrote the Date
 * header, or behind it when negative: the header was written between sending and receiving, however long that
 * took. Undefined without a date.
 */
export function clockOffset(
  date: string | string[] | undefined,
  sentAt: Date,
  receivedAt: Date,
): number | undefined {
  const writtenMs = typeof date === "string" ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(writtenMs)) return undefined;
  const aheadMs = sentAt.getTime() - (writtenMs + dateUnitMs);
  const behindMs = writtenMs - receivedAt.getTime();
  return aheadMs > 0 ? aheadMs : -Math.max(0, behindMs);
}
