/** Returns the names of language tags, such as `English`. A tag without a known name stands for itself. */
export function languageNames(tags: readonly string[]): string {
  const names = new Intl.DisplayNames("en", { type: "language", fallback: "code" });
  return tags
    .map((tag) => {
      try {
        return names.of(tag) ?? tag;
      } catch {
        return tag; // Not a well-formed tag.
      }
    })
    .join(", ");
}
