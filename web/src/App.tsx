import { lazy, Suspense } from "react";
import { Navigate, Outlet, Route, Routes, useLocation } from "react-router";
import { sentenceFor } from "./client/apiError.ts";
import { Layout } from "./layout/Layout.tsx";
import { Notice, Spinner } from "./components/Notice.tsx";
import { PlayFrame } from "./play/PlayFrame.tsx";
import { ActiveGameSessionProvider } from "./launch/useActiveGameSession.tsx";
import { AuthProvider, useAuth } from "./signIn/useAuth.tsx";
import { AccountPage } from "./account/AccountPage.tsx";
import { CatalogPage } from "./catalog/CatalogPage.tsx";
import { GamePage } from "./catalog/GamePage.tsx";
import { NotFoundPage } from "./layout/NotFoundPage.tsx";
import { SignInPage } from "./signIn/SignInPage.tsx";

/** Its own part of the program: everything about streaming is loaded when a game is played. */
const PlayPage = lazy(() => import("./play/PlayPage.tsx"));

/** The pages and who may see them. */
export function App() {
  return (
    <AuthProvider>
      <ActiveGameSessionProvider>
        <Routes>
          <Route path="/signin" element={<SignInPage />} />
          <Route element={<SignedIn />}>
            <Route path="/play/:sessionId" element={<Suspense fallback={<PlayFrame><Spinner label="Loading…" /></PlayFrame>}><PlayPage /></Suspense>} />
            <Route element={<Layout />}>
              <Route index element={<CatalogPage />} />
              <Route path="/games/:slug" element={<GamePage />} />
              <Route path="/account" element={<AccountPage />} />
              <Route path="*" element={<NotFoundPage />} />
            </Route>
          </Route>
        </Routes>
      </ActiveGameSessionProvider>
    </AuthProvider>
  );
}

/** Leads everybody else to the sign-in page and afterwards back. */
function SignedIn() {
  const { auth, refresh } = useAuth();
  const { pathname, search } = useLocation();
  switch (auth.state) {
    case "loading":
      return <PlayFrame><Spinner label="Loading…" /></PlayFrame>;
    case "signedIn":
      return <Outlet />;
    case "signedOut": {
      const place = `${pathname}${search}`;
      const query = new URLSearchParams({ ...(place !== "/" && { callbackUrl: place }), ...(auth.isExpired && { error: "SessionRequired" }) });
      return <Navigate to={query.size === 0 ? "/signin" : `/signin?${query}`} replace />;
    }
    case "failed":
      return (
        <PlayFrame>
          <Notice tone="problem" title="Joypod could not be reached" actions={<button type="button" className="button button-primary" onClick={() => void refresh()}>Try again</button>}>
            <p>{sentenceFor(auth.error)}</p>
          </Notice>
        </PlayFrame>
      );
  }
}
