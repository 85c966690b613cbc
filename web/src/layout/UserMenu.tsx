import { NavLink } from "react-router";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { sentenceFor } from "../client/apiError.ts";
import { signOut } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { endAuthSession, useAuth } from "../signIn/useAuth.ts";

/** Who is signed in, which leads to their account, and the button to sign out. */
export function UserMenu() {
  const { auth } = useAuth();
  const client = useQueryClient();
  const signingOut = useMutation({
    mutationFn: signOut,
    onSuccess: () => endAuthSession(client, { isExpired: false }),
  });
  if (auth.state !== "signedIn") return null;
  const { name, email, image } = auth.user;
  return (
    <div className="user">
      {signingOut.isError && (
        <span className="user-problem" role="alert">
          {sentenceFor(signingOut.error)}
        </span>
      )}
      <NavLink className="account-link" to="/account">
        <span className="visually-hidden">Your account</span>{" "}
        <span className="avatar" aria-hidden="true">
          {image === "" ? firstLetterOf(name === "" ? email : name) : <img src={image} alt="" />}
        </span>
        <span className="user-name" title={email}>
          {name === "" ? email : name}
        </span>
      </NavLink>
      <ActionButton
        className="button button-quiet"
        aria-label="Sign out"
        isBusy={signingOut.isPending}
        onClick={() => signingOut.mutate()}
      >
        <Icon name="leave" />
        <span className="user-leave">Sign out</span>
      </ActionButton>
    </div>
  );
}

/** Returns the first character, whole: half of an emoji shows as nothing. */
function firstLetterOf(text: string): string {
  return (Array.from(text)[0] ?? "").toUpperCase();
}
