import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { SignIn } from "#contracts/http/account.ts";
import { endOtherSignIns, endSignIn, listSignIns } from "../client/account.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { Icon } from "../components/Icon.tsx";
import { LoadFailure, Spinner } from "../components/Notice.tsx";
import { timeAgo } from "../components/timeText.ts";
import { useNow } from "../components/useNow.ts";

const queryKey = ["signIns"];

/** Where the player is signed in, with buttons to sign out there. */
export function SignIns() {
  const client = useQueryClient();
  const signIns = useQuery({ queryKey, queryFn: ({ signal }) => listSignIns(signal) });
  const onSettled = (): Promise<void> => client.invalidateQueries({ queryKey });
  const endingOne = useMutation({
    // It may have ended by itself meanwhile.
    mutationFn: ({ signInId }: SignIn) => endSignIn(signInId).catch((error: unknown) => isApiError(error, "not_found") ? undefined : Promise.reject(error as Error)),
    onSettled,
  });
  const endingOthers = useMutation({ mutationFn: endOtherSignIns, onSettled });
  // What was said of the one is not said beside the other.
  const endOne = (signIn: SignIn): void => {
    endingOthers.reset();
    endingOne.mutate(signIn);
  };
  const endOthers = (): void => {
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
      {problem !== null && <p className="message message-problem" role="alert">{sentenceFor(problem)}</p>}
      {endingOthers.isSuccess && <p className="message" role="status">You are signed out everywhere else.</p>}
      {signIns.isPending && <Spinner label="Loading…" />}
      {signIns.isError && <LoadFailure what="Your sign-ins" error={signIns.error} onRetry={() => void signIns.refetch()} />}
      {signIns.isSuccess && (
        <ul className="methods" aria-label="Sign-ins">
          {listed.map((signIn) => <SignInItem key={signIn.signInId} signIn={signIn} isBusy={isBusy} onEnd={() => endOne(signIn)} />)}
        </ul>
      )}
      {listed.some(({ isCurrent }) => !isCurrent) && (
        <div className="actions">
          <button type="button" className="button" disabled={isBusy} onClick={endOthers}><Icon name="leave" />Sign out everywhere else</button>
        </div>
      )}
    </section>
  );
}

const minuteMs = 60_000;

function SignInItem({ signIn: { device, network, isCurrent, lastUsedAt, signedInAt }, isBusy, onEnd }: { signIn: SignIn; isBusy: boolean; onEnd: () => void }) {
  const now = useNow(minuteMs);
  const name = device ?? "Unknown device";
  const place = network === null ? "Network unknown" : `Network ${network}`;
  return (
    <li className="method">
      <div className="method-text">
        <strong>{name}</strong>
        <span>{place} · {isCurrent ? "in use" : `last used ${timeAgo(lastUsedAt, now)}`} · signed in {timeAgo(signedInAt, now)}</span>
      </div>
      {isCurrent
        ? <span className="method-state method-linked"><Icon name="check" />This device</span>
        : <button type="button" className="button" aria-label={`Sign out ${name}`} disabled={isBusy} onClick={onEnd}>Sign out</button>}
    </li>
  );
}
