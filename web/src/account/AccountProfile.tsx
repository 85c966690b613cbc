import { useId, useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { AccountExport, AccountResponse } from "#contracts/http/account.ts";
import type { SignInMethodsResponse } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import {
  changeEmail,
  deleteAccount,
  exportAccount,
  keepAccount,
  readAccount,
  removePicture,
  setName,
  setPicture,
} from "../client/account.ts";
import { describeError } from "../client/apiError.ts";
import type { AuthSessionUser } from "../client/auth.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { formatDate } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { ReadState } from "../components/Notice.tsx";
import { useAnnouncement } from "../components/useAnnouncement.tsx";
import { useAuth } from "../signIn/useAuth.ts";
import { useSignUp } from "../signIn/useSignUp.ts";
import { ExportedSaves } from "./ExportedSaves.tsx";
import { ReauthenticationDialog, useReauthentication } from "./ReauthenticationDialog.tsx";
import { toScaledPicture } from "./scaledPicture.ts";

const queryKey = ["account"];

interface AccountPartProps {
  user: AuthSessionUser;
  methods: SignInMethodsResponse;
}

/** Runs changes that need proof of identity, one at a time, and shows the result of the last one. */
function useAccountChange({ user, methods }: AccountPartProps) {
  const client = useQueryClient();
  const { refresh } = useAuth();
  const { attempt, pending } = useReauthentication();
  const [announcement, announce] = useAnnouncement();
  const change = useMutation({
    mutationFn: async ({ work, news }: { work: (password?: string) => Promise<void>; news: string }) => {
      if (await attempt(work)) announce(news);
    },
    onSettled: async () => {
      await client.invalidateQueries({ queryKey });
      await refresh().catch(() => undefined);
    },
  });
  const begin = (work: (password?: string) => Promise<void>, news: string): void => {
    announce("");
    change.mutate({ work, news });
  };
  const outcome = (
    <>
      {change.isError && (
        <p className="message message-problem" role="alert">
          {describeError(change.error)}
        </p>
      )}
      {announcement}
      {pending !== undefined && (
        <ReauthenticationDialog change={pending} methods={methods} player={user.id} />
      )}
    </>
  );
  return { begin, isBusy: change.isPending, outcome };
}

/** The player's name, picture and address, each with the button that changes it. */
export function AccountProfile(props: AccountPartProps) {
  const { user } = props;
  const { t } = useTranslation("account");
  const account = useQuery({ queryKey, queryFn: ({ signal }) => readAccount(signal) });
  const site = useSignUp();
  const { begin, isBusy, outcome } = useAccountChange(props);
  const [editing, setEditing] = useState<"name" | "email">();
  const changePicture = (file: File): void =>
    begin(
      async (password) => setPicture(user.id, await toScaledPicture(file), password),
      t("profile.pictureSaved"),
    );
  return (
    <section aria-labelledby="profile-title">
      <h2 id="profile-title">{t("profile.title")}</h2>
      {outcome}
      <ReadState query={account} failureTitle={t("profile.loadFailed")} />
      {account.data !== undefined && (
        <ul className="methods">
          <li className="method">
            <Avatar account={account.data} />
            <div className="method-text">
              <strong>{t("profile.picture")}</strong>
            </div>
            <PictureButton isBusy={isBusy} onChoose={changePicture} />
            {account.data.hasOwnPicture && (
              <ActionButton
                className="button"
                isBusy={isBusy}
                onClick={() =>
                  begin((password) => removePicture(user.id, password), t("profile.pictureRemoved"))
                }
              >
                {t("profile.removePicture")}
              </ActionButton>
            )}
          </li>
          <li className="method">
            <div className="method-text">
              <strong>{t("profile.name")}</strong>
              <span>{account.data.name}</span>
            </div>
            <ActionButton className="button" isBusy={isBusy} onClick={() => setEditing("name")}>
              {t("profile.changeName")}
            </ActionButton>
          </li>
          <li className="method">
            <div className="method-text">
              <strong>{t("profile.email")}</strong>
              <span>{account.data.email}</span>
            </div>
            {site.data?.sendsMail === true && (
              <ActionButton className="button" isBusy={isBusy} onClick={() => setEditing("email")}>
                {t("profile.changeEmail")}
              </ActionButton>
            )}
          </li>
        </ul>
      )}
      {editing !== undefined && account.data !== undefined && (
        <FieldDialog
          field={editing}
          account={account.data}
          onSave={(value) => {
            setEditing(undefined);
            if (editing === "name")
              begin((password) => setName(user.id, value, password), t("profile.nameSaved"));
            else
              begin(
                (password) => changeEmail(user.id, value, password),
                t("profile.mailed", { email: value }),
              );
          }}
          onDismiss={() => setEditing(undefined)}
        />
      )}
    </section>
  );
}

function Avatar({ account: { picture, name, email } }: { account: AccountResponse }) {
  return (
    <span className="avatar" aria-hidden="true">
      {picture === "" ? (
        (Array.from(name === "" ? email : name)[0] ?? "").toUpperCase()
      ) : (
        <img src={picture} alt="" />
      )}
    </span>
  );
}

function PictureButton({ isBusy, onChoose }: { isBusy: boolean; onChoose: (file: File) => void }) {
  const { t } = useTranslation("account");
  return (
    <label className="button" aria-disabled={isBusy}>
      {t("profile.choosePicture")}
      <input
        className="visually-hidden"
        type="file"
        accept="image/*"
        disabled={isBusy}
        onChange={({ target }) => {
          const file = target.files?.[0];
          // So that the same file can be chosen again.
          target.value = "";
          if (file !== undefined) onChoose(file);
        }}
      />
    </label>
  );
}

/** Asks for a new name or address. */
function FieldDialog({
  field,
  account,
  onSave,
  onDismiss,
}: {
  field: "name" | "email";
  account: AccountResponse;
  onSave: (value: string) => void;
  onDismiss: () => void;
}) {
  const { t } = useTranslation(["account", "common"]);
  const formId = useId();
  const isName = field === "name";
  const submit = (event: SyntheticEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const value = new FormData(event.currentTarget).get(field);
    if (typeof value === "string") onSave(value.trim());
  };
  return (
    <Dialog
      title={isName ? t("profile.nameTitle") : t("profile.emailTitle")}
      onDismiss={onDismiss}
      actions={
        <>
          <button type="submit" form={formId} className="button button-primary">
            {isName ? t("profile.saveName") : t("profile.sendMail")}
          </button>
          <button type="button" className="button" onClick={onDismiss}>
            {t("common:cancel")}
          </button>
        </>
      }
    >
      {!isName && <p>{t("profile.emailAbout")}</p>}
      <form id={formId} onSubmit={submit}>
        <label className="field">
          <span>{isName ? t("profile.newName") : t("profile.newEmail")}</span>
          <input
            name={field}
            type={isName ? "text" : "email"}
            autoComplete={isName ? "nickname" : "email"}
            defaultValue={isName ? account.name : ""}
            required
            maxLength={isName ? limits.auth.nameMaxLength : limits.auth.emailMaxLength}
            autoFocus
          />
        </label>
      </form>
    </Dialog>
  );
}

/** The export of the player's data, and the deletion of the account. */
export function AccountData(props: AccountPartProps) {
  const { user } = props;
  const { t } = useTranslation(["account", "common"]);
  const account = useQuery({ queryKey, queryFn: ({ signal }) => readAccount(signal) });
  const { begin, isBusy, outcome } = useAccountChange(props);
  const [isAsking, setIsAsking] = useState(false);
  const [saves, setSaves] = useState<AccountExport["saves"]>([]);
  const deleteAt = account.data?.deleteAt ?? null;
  return (
    <section aria-labelledby="data-title">
      <h2 id="data-title">{t("data.title")}</h2>
      <p className="muted">{t("data.about")}</p>
      {outcome}
      <ExportedSaves saves={saves} />
      {deleteAt !== null && (
        <p className="message message-problem">{t("data.scheduled", { date: formatDate(deleteAt) })}</p>
      )}
      <div className="actions">
        <ActionButton
          className="button"
          isBusy={isBusy}
          onClick={() =>
            begin(async (password) => {
              const data = await exportAccount(user.id, password);
              download(data);
              setSaves(data.saves);
            }, t("data.exported"))
          }
        >
          {t("data.export")}
        </ActionButton>
        {deleteAt === null ? (
          <ActionButton className="button" isBusy={isBusy} onClick={() => setIsAsking(true)}>
            <Icon name="warning" />
            {t("data.delete")}
          </ActionButton>
        ) : (
          <ActionButton
            className="button button-primary"
            isBusy={isBusy}
            onClick={() => begin(() => keepAccount(user.id), t("data.kept"))}
          >
            {t("data.keep")}
          </ActionButton>
        )}
      </div>
      {isAsking && (
        <Dialog
          title={t("data.question")}
          onDismiss={() => setIsAsking(false)}
          actions={
            <>
              <button
                type="button"
                className="button button-primary"
                onClick={() => {
                  setIsAsking(false);
                  begin(async (password) => {
                    await deleteAccount(user.id, password);
                  }, t("data.deleting"));
                }}
              >
                {t("data.deleteNow")}
              </button>
              <button type="button" className="button" autoFocus onClick={() => setIsAsking(false)}>
                {t("common:cancel")}
              </button>
            </>
          }
        >
          <p>{t("data.consequences", { days: limits.auth.deletionDays })}</p>
        </Dialog>
      )}
    </section>
  );
}

/** Saves the data as a file on the player's device. */
function download(data: unknown): void {
  const url = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "joypod-account.json";
  link.click();
  URL.revokeObjectURL(url);
}
