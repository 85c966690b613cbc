/** Returns the address of a picture; with an empty id, what all of them begin with. */
export function pictureAddress({ baseUrl }: { baseUrl: string }, pictureId: string): string {
  return `${baseUrl}/api/pictures/${pictureId}`;
}
