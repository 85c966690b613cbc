import { useTranslation } from "react-i18next";
import { useQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { SignIn } from "#contracts/http/account.ts";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import { endOtherSignIns, endSignIn, listSignIns } from "../client/account.ts";
import { describeError, isApiError } from "../client/apiError.ts";
import { listSignInMethods } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatTimeAgo } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { ReadState } from "../components/Notice.tsx";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { useNow } from "../components/useNow.ts";
import { useTitle } from "../components/useTitle.ts";
import { ConnectionTest } from "../connectionTest/ConnectionTest.tsx";
import { QualityForm } from "../quality/QualityForm.tsx";
import { useKeepQuality, useQualityChoice } from "../quality/useQualityChoice.ts";
import { useAuth } from "../signIn/useAuth.ts";
import { AccountMethods } from "./AccountMethods.tsx";
import { AccountData, AccountProfile } from "./AccountProfile.tsx";

const queryKey = ["signIns"];

const minuteMs = 60_000;

/**
 * The player's sign-in methods, picture quality, sign-ins and connection. Linking leads to the provider and
 * back here, with `linked` or `error` in the address.
 */
export default function AccountPage() {
  const { t } = useTranslation("account");
  useTitle(t("title"));
  const { auth } = useAuth();
  const methods = useQuery({
    queryKey: ["signInMethods"],
    queryFn: ({ signal }) => listSignInMethods(signal),
  });
  if (auth.state !== "signedIn") return null;
  return (
    <div className="account">
      <h1>{t("title")}</h1>
      {methods.data !== undefined && <AccountProfile methods={methods.data} user={auth.user} />}
      <section aria-labelledby="methods-title">
        <h2 id="methods-title">{t("methods.title")}</h2>
        <p className="muted">{t("methods.about")}</p>
        <ReadState query={methods} failureTitle={t("methods.loadFailed")} />
        {methods.data !== undefined && <AccountMethods methods={methods.data} user={auth.user} />}
      </section>
      <PictureQuality />
      <SignIns player={auth.user.id} />
      <ConnectionTest />
      {methods.data !== undefined && <AccountData methods={methods.data} user={auth.user} />}
    </div>
  );
}

/** The picture quality of the player's next games. */
function PictureQuality() {
  const { t } = useTranslation("account");
  const choice = useQualityChoice();
  const keeping = useKeepQuality();
  const [announcement, announce] = useAnnouncement();
  const keep = (quality: QualityRequest): void => {
    announce("");
    keeping.mutate(quality, { onSuccess: () => announce(t("quality.saved")) });
  };
  return (
    <section aria-labelledby="quality-title">
      <h2 id="quality-title">{t("quality.title")}</h2>
      <p className="muted">{t("quality.about")}</p>
      <ReadState query={choice} failureTitle={t("quality.loadFailed")} />
      {choice.data !== undefined && (
        <QualityForm value={choice.data.quality} maximum={choice.data.maximum} onChange={keep} />
      )}
      {keeping.isError && (
        <p className="message message-problem" role="alert">
          {describeError(keeping.error)}
        </p>
      )}
      {announcement}
    </section>
  );
}

/** The devices on which the player with this id is signed in, with buttons to sign them out. */
function SignIns({ player }: { player: string }) {
  const { t } = useTranslation("account");
  const client = useQueryClient();
  const signIns = useQuery({ queryKey, queryFn: ({ signal }) => listSignIns(signal) });
  const onSettled = (): Promise<void> => client.invalidateQueries({ queryKey });
  const [announcement, announce] = useAnnouncement();
  const endingOne = useMutation({
    // The sign-in may have ended since the list was read.
    mutationFn: ({ signInId }: SignIn) =>
      endSignIn(player, signInId).catch((error: unknown) =>
        isApiError(error, "not_found") ? undefined : Promise.reject(error as Error),
      ),
    onSuccess: (_nothing, { device }) =>
      announce(t("signIns.signedOut", { device: device ?? t("signIns.unknownDevice") })),
    onSettled,
  });
  const endingOthers = useMutation({
    mutationFn: () => endOtherSignIns(player),
    onSuccess: () => announce(t("signIns.signedOutOthers")),
    onSettled,
  });
  // Only the result of the last action is shown.
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
  // This device first, then the most recently used one.
  const listed = signIns.data?.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent)) ?? [];
  return (
    <section aria-labelledby="sign-ins-title">
      <h2 id="sign-ins-title">{t("signIns.title")}</h2>
      <p className="muted">{t("signIns.about")}</p>
      {problem !== null && (
        <p className="message message-problem" role="alert">
          {describeError(problem)}
        </p>
      )}
      {announcement}
      <ReadState query={signIns} failureTitle={t("signIns.loadFailed")} />
      {signIns.data !== undefined && (
        <ul className="methods" aria-label={t("signIns.list")}>
          {listed.map((signIn) => (
            <SignInItem key={signIn.signInId} signIn={signIn} isBusy={isBusy} onEnd={() => endOne(signIn)} />
          ))}
        </ul>
      )}
      {listed.some(({ isCurrent }) => !isCurrent) && (
        <div className="actions">
          <ActionButton className="button" isBusy={isBusy} onClick={endOthers}>
            <Icon name="leave" />
            {t("signIns.signOutOthers")}
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
  const { t } = useTranslation("account");
  const now = useNow(minuteMs);
  const name = device ?? t("signIns.unknownDevice");
  const place = network === null ? t("signIns.unknownNetwork") : t("signIns.network", { network });
  const signedIn = formatTimeAgo(signedInAt, now);
  return (
    <li className="method">
      <div className="method-text">
        <strong>{name}</strong>
        <span>
          {isCurrent
            ? t("signIns.current", { network: place, signedIn })
            : t("signIns.other", { network: place, lastUsed: formatTimeAgo(lastUsedAt, now), signedIn })}
        </span>
      </div>
      {isCurrent ? (
        <span className="method-state method-linked">
          <Icon name="check" />
          {t("signIns.thisDevice")}
        </span>
      ) : (
        <ActionButton
          className="button"
          aria-label={t("signIns.signOutDevice", { device: name })}
          isBusy={isBusy}
          onClick={onEnd}
        >
          {t("signIns.signOut")}
        </ActionButton>
      )}
    </li>
  );
}
