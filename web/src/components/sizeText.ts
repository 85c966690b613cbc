/**
 * Returns a size in bytes as people write it, such as `0 KB`, `47 KB`, `1.2 MB` or `256 MB`: in steps of
 * 1024, and anything but nothing as at least 1 KB.
 */
export function sizeText(bytes: number): string {
  const kibibytes = Math.ceil(bytes / 1024);
  if (kibibytes < 1024) return `${kibibytes} KB`;
  const mebibytes = bytes / 2 ** 20;
  return mebibytes < 10 ? `${Number(mebibytes.toFixed(1))} MB` : `${Math.round(mebibytes)} MB`;
}
