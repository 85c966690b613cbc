/** Returns the address of a player's picture: the player's own, the site's default, or empty. */
export function pictureOf(
  image: string | null,
  { baseUrl, defaultAvatarUrl }: { baseUrl: string; defaultAvatarUrl: string },
): string {
  if (image === null) return defaultAvatarUrl;
  // Uploaded pictures are stored by their path, so that the site can move to another address.
  return image.startsWith("/") ? `${baseUrl}${image}` : image;
}
