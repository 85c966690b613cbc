import { useState, type ReactNode } from "react";
import { NavLink } from "react-router";
import { sentenceFor } from "../client/apiError.ts";
import { useAuth } from "../signIn/useAuth.tsx";
import { useSignInProviders } from "../signIn/useSignInProviders.ts";
import { Icon } from "../components/Icon.tsx";

/** Who is signed in, and the way out. */
export function UserMenu() {
  const { auth, signOut, noticeError } = useAuth();
  const [isLeaving, setIsLeaving] = useState(false);
  const [problem, setProblem] = useState<string>();
  if (auth.state !== "signedIn") return null;
  const { name, email, image } = auth.user;

  const leave = async (): Promise<void> => {
    setIsLeaving(true);
    try {
      await signOut();
    } catch (error) {
      noticeError(error); // Ends the signed-in state when it had ended already.
      setProblem(sentenceFor(error));
      setIsLeaving(false);
    }
  };

  return (
    <div className="user">
      {problem !== undefined && <span className="user-problem" role="alert">{problem}</span>}
      <AccountLink>
        <span className="avatar" aria-hidden="true">
          {image === "" ? (name === "" ? email : name).slice(0, 1).toUpperCase() : <img src={image} alt="" />}
        </span>
        <span className="user-name" title={email}>{name === "" ? email : name}</span>
      </AccountLink>
      <button className="button button-quiet" type="button" aria-label="Sign out" disabled={isLeaving} onClick={() => void leave()}>
        <Icon name="leave" /><span className="user-leave">Sign out</span>
      </button>
    </div>
  );
}

/** Leads to the sign-in methods, where there is more than one. */
function AccountLink({ children }: { children: ReactNode }) {
  const providers = useSignInProviders();
  if (providers.length === 0) return <span className="account-link">{children}</span>;
  return <NavLink className="account-link" to="/account"><span className="visually-hidden">Your account</span>{" "}{children}</NavLink>;
}
