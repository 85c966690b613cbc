import { useQuery } from "@tanstack/react-query";
import { listSignInMethods } from "../client/auth.ts";
import { ReadState } from "../components/ReadState.tsx";
import { useTitle } from "../components/useTitle.ts";
import { ConnectionTest } from "../connectionTest/ConnectionTest.tsx";
import { useAuth } from "../signIn/useAuth.ts";
import { AccountMethods } from "./AccountMethods.tsx";
import { PictureQuality } from "./PictureQuality.tsx";
import { SignIns } from "./SignIns.tsx";

/**
 * How the player can sign in, where they are, how their games look, and how their connection is. Linking
 * leads to the provider and back here, with `linked` or `error` in the address.
 */
export default function AccountPage() {
  useTitle("Your account");
  const { auth } = useAuth();
  const methods = useQuery({
    queryKey: ["signInMethods"],
    queryFn: ({ signal }) => listSignInMethods(signal),
  });
  if (auth.state !== "signedIn") return null;
  return (
    <div className="account">
      <h1>Your account</h1>
      <section aria-labelledby="methods-title">
        <h2 id="methods-title">Sign-in methods</h2>
        <p className="muted">Whichever you use, you find the same games and saves.</p>
        <ReadState query={methods} what="Your sign-in methods" />
        {methods.data !== undefined && <AccountMethods methods={methods.data} user={auth.user} />}
      </section>
      <PictureQuality />
      <SignIns player={auth.user.id} />
      <ConnectionTest />
    </div>
  );
}
