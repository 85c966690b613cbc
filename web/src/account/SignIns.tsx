import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { SignIn } from "#contracts/http/account.ts";
import { endOtherSignIns, endSignIn, listSignIns } from "../client/account.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { ReadState } from "../components/ReadState.tsx";
import { timeAgo } from "../components/timeText.ts";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { useNow } from "../components/useNow.ts";

const queryKey = ["signIns"];
const unknownDevice = "Unknown device";

/** Where the player of this id is signed in, with buttons to sign out there. */
export function SignIns({ player }: { player: string }) {
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

const minuteMs = 60_000;

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
