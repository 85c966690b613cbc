import {
  getCsrfToken,
  getProviders,
  getSession,
  SessionProvider,
  signIn,
  signOut,
  useSession,
} from "next-auth/react";
import { createRoot } from "react-dom/client";

/** What the Auth.js client's hook says, for tests to read; `update` as the page would call it. */
function Shown() {
  const { status, data, update } = useSession({ required: location.pathname === "/members" });
  Object.assign(globalThis, {
    nextAuth: { getCsrfToken, getProviders, getSession, signIn, signOut, update },
  });
  return (
    <main>
      <p data-testid="status">{status}</p>
      <p data-testid="email">{data?.user?.email}</p>
      <p data-testid="expires">{data?.expires}</p>
    </main>
  );
}

const root = document.getElementById("root");
if (root !== null)
  createRoot(root).render(
    <SessionProvider>
      <Shown />
    </SessionProvider>,
  );
