/**
 * Paths of the web pages, as patterns of React Router. The API answers every other address outside /api with
 * 404, so a new page needs an entry here.
 */
export const pagePaths = {
  home: "/",
  signIn: "/signin",
  signUp: "/signup",
  invitation: "/invitation",
  forgotPassword: "/forgot-password",
  resetPassword: "/reset-password",
  confirmEmail: "/confirm-email",
  playLink: "/playtest",
  openPlayLink: "/playtest/open",
  play: "/play/:sessionId",
  game: "/games/:slug",
  history: "/history",
  account: "/account",
  saveLink: "/save-link",
} as const;
