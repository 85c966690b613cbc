import { initReactI18next } from "react-i18next";
import i18next from "i18next";
import account from "./locales/en/account.json" with { type: "json" };
import catalog from "./locales/en/catalog.json" with { type: "json" };
import common from "./locales/en/common.json" with { type: "json" };
import connectionTest from "./locales/en/connectionTest.json" with { type: "json" };
import errors from "./locales/en/errors.json" with { type: "json" };
import history from "./locales/en/history.json" with { type: "json" };
import launch from "./locales/en/launch.json" with { type: "json" };
import play from "./locales/en/play.json" with { type: "json" };
import quality from "./locales/en/quality.json" with { type: "json" };
import saveLinks from "./locales/en/saveLinks.json" with { type: "json" };
import saves from "./locales/en/saves.json" with { type: "json" };
import signIn from "./locales/en/signIn.json" with { type: "json" };
import signUp from "./locales/en/signUp.json" with { type: "json" };

/** The language of the page's text, numbers and dates. */
export const language = "en";

const catalogues = {
  account,
  catalog,
  common,
  connectionTest,
  errors,
  history,
  launch,
  play,
  quality,
  saveLinks,
  saves,
  signIn,
  signUp,
};

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "common";
    resources: typeof catalogues;
  }
}

// The catalogues are bundled, so initialization is synchronous and no page appears without its text.
void i18next.use(initReactI18next).init({
  lng: language,
  fallbackLng: language,
  defaultNS: "common",
  resources: { [language]: catalogues },
  initAsync: false,
  interpolation: { escapeValue: false }, // React escapes what it renders.
});

/** Returns the text of a key such as `saves:loading`, for code that is not a component. */
export const { t } = i18next;
