import { slug } from "#contracts/http/text.ts";

const maxLength = 63;

/**
 * Returns a slug made from a title: its letters and digits in ASCII, dashes for the rest; undefined when too
 * little is left.
 */
export function slugOf(title: string): string | undefined {
  const words = title
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/['’]/g, "")
    .replace(/[^a-z0-9]+/g, "-");
  return slug.safeParse(
    words
      .slice(0, maxLength + 1)
      .replace(/^-+/, "")
      .slice(0, maxLength)
      .replace(/-+$/, ""),
  ).data;
}
