import { useQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { listSignInMethods } from "../client/auth.ts";
import { ReadState } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { ConnectionTest } from "../connectionTest/ConnectionTest.tsx";
import { useAuth } from "../signIn/useAuth.ts";
import { AccountMethods } from "./AccountMethods.tsx";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import { sentenceFor, isApiError } from "../client/apiError.ts";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { QualityForm } from "../quality/QualityForm.tsx";
import { useKeepQuality, useQualityChoice } from "../quality/useQualityChoice.ts";
import type { SignIn } from "#contracts/http/account.ts";
import { endOtherSignIns, endSignIn, listSignIns } from "../client/account.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { timeAgo } from "../components/format.ts";
import { useNow } from "../components/useNow.ts";

const queryKey = ["signIns"];

const unknownDevice = "Unknown device";

const minuteMs = 60_000;

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

/** The quality that the player's games begin with. */
function PictureQuality() {
  const choice = useQualityChoice();
  const keeping = useKeepQuality();
  const [announcement, announce] = useAnnouncement();
  const keep = (quality: QualityRequest): void => {
    announce("");
    keeping.mutate(quality, { onSuccess: () => announce("Kept for your next game.") });
  };
  return (
    <section aria-labelledby="quality-title">
      <h2 id="quality-title">Picture quality</h2>
      <p className="muted">
        Of the games that you start from now on. While you play, the game controls change it at once.
      </p>
      <ReadState query={choice} what="Your picture quality" />
      {choice.data !== undefined && (
        <QualityForm value={choice.data.quality} maximum={choice.data.maximum} onChange={keep} />
      )}
      {keeping.isError && (
        <p className="message message-problem" role="alert">
          {sentenceFor(keeping.error)}
        </p>
      )}
      {announcement}
    </section>
  );
}

/** Where the player of this id is signed in, with buttons to sign out there. */
function SignIns({ player }: { player: string }) {
  const client = useQueryClient();
  const signIns = useQuery({ queryKey, queryFn: ({ signal }) => listSignIns(signal) });
  const onSettled = (): Promise<void> => client.invalidateQueries({ queryKey });
  const [announcement, announce] = useAnnouncement();
  const endingOne = useMutation({
    // It may have ended by itself meanwhile.
    mutationFn: ({ signInId }: SignIn) =>
      endSignIn(player, signInId).catch((error: unknown) =>
        isApiError(error, "not_found") ? undefined : Promise.reject(error as Error),
      ),
    onSuccess: (_nothing, { device }) => announce(`${device ?? unknownDevice} is signed out.`),
    onSettled,
  });
  const endingOthers = useMutation({
    mutationFn: () => endOtherSignIns(player),
    onSuccess: () => announce("You are signed out everywhere else."),
    onSettled,
  });
  // What was said of the one is not said beside the other.
  const endOne = (signIn: SignIn): void => {
    announce("");
    endingOthers.reset();
    endingOne.mutate(signIn);
  };
  const endOthers = (): void => {
    announce("");
    endingOne.reset();
    endingOthers.mutate();
  };
  const isBusy = endingOne.isPending || endingOthers.isPending;
  const problem = endingOne.error ?? endingOthers.error;
  // This device first, then the one used last.
  const listed = signIns.data?.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent)) ?? [];
  return (
    <section aria-labelledby="sign-ins-title">
      <h2 id="sign-ins-title">Where you are signed in</h2>
      <p className="muted">Do you not know one of them? Sign it out, and change your password.</p>
      {problem !== null && (
        <p className="message message-problem" role="alert">
          {sentenceFor(problem)}
        </p>
      )}
      {announcement}
      <ReadState query={signIns} what="Your sign-ins" />
      {signIns.data !== undefined && (
        <ul className="methods" aria-label="Sign-ins">
          {listed.map((signIn) => (
            <SignInItem key={signIn.signInId} signIn={signIn} isBusy={isBusy} onEnd={() => endOne(signIn)} />
          ))}
        </ul>
      )}
      {listed.some(({ isCurrent }) => !isCurrent) && (
        <div className="actions">
          <ActionButton className="button" isBusy={isBusy} onClick={endOthers}>
            <Icon name="leave" />
            Sign out everywhere else
          </ActionButton>
        </div>
      )}
    </section>
  );
}

function SignInItem({
  signIn: { device, network, isCurrent, lastUsedAt, signedInAt },
  isBusy,
  onEnd,
}: {
  signIn: SignIn;
  isBusy: boolean;
  onEnd: () => void;
}) {
  const now = useNow(minuteMs);
  const name = device ?? unknownDevice;
  const place = network === null ? "Network unknown" : `Network ${network}`;
  return (
    <li className="method">
      <div className="method-text">
        <strong>{name}</strong>
        <span>
          {place} · {isCurrent ? "in use" : `last used ${timeAgo(lastUsedAt, now)}`} · signed in{" "}
          {timeAgo(signedInAt, now)}
        </span>
      </div>
      {isCurrent ? (
        <span className="method-state method-linked">
          <Icon name="check" />
          This device
        </span>
      ) : (
        <ActionButton className="button" aria-label={`Sign out ${name}`} isBusy={isBusy} onClick={onEnd}>
          Sign out
        </ActionButton>
      )}
    </li>
  );
}
