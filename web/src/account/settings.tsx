import "../shared.ts";

import { useSignal } from "@preact/signals";

import { needsLogin } from "../api.ts";
import { LANGUAGES, choose, setLanguage, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { logOut, session } from "../session.ts";
import { chosenLanguage, scheme } from "../settings.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { ShareList } from "../share/share-list.tsx";
import { FirstUser } from "./login.tsx";
import { Sessions } from "./sessions.tsx";

/** View of the settings of this browser, and of the user's account. */
export default function Settings() {
  const { name } = session.value;
  return (
    <div class="view settings">
      <div class="view-head">
        <h1>{t("nav.settings")}</h1>
      </div>
      <section class="card">
        <h2>{t("settings.account")}</h2>
        <Account />
      </section>
      <section class="card">
        <h2>{t("settings.appearance")}</h2>
        <label class="field">
          <span>{t("settings.scheme")}</span>
          <select value={scheme.value} onChange={(event) => (scheme.value = event.currentTarget.value as typeof scheme.value)}>
            <option value="system">{t("settings.scheme.system")}</option>
            <option value="light">{t("settings.scheme.light")}</option>
            <option value="dark">{t("settings.scheme.dark")}</option>
          </select>
        </label>
        <label class="field">
          <span>{t("settings.language")}</span>
          <select value={chosenLanguage.value} onChange={(event) => chooseLanguage(event.currentTarget.value)}>
            <option value="">{t("settings.language.browser")}</option>
            {Object.entries(LANGUAGES).map(([tag, name]) => (
              <option value={tag} lang={tag}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </section>
      <a class="card card-link" href={href("playground")}>
        <h2>{t("nav.playground")}</h2>
        <Icon name="forward" />
      </a>
      {name !== null && <Lists key={name} />}
    </div>
  );
}

/**
 * The user's sessions and share links. The lists come last, and the second is shown once the first
 * has loaded or failed, so that no content shifts.
 */
function Lists() {
  const areSessionsSettled = useSignal(false);
  return (
    <>
      <section class="card">
        <h2>{t("settings.sessions")}</h2>
        <Sessions onSettled={() => (areSessionsSettled.value = true)} />
      </section>
      {areSessionsSettled.value && (
        <section class="card">
          <h2>{t("share.list")}</h2>
          <ShareList />
        </section>
      )}
    </>
  );
}

function chooseLanguage(tag: string): void {
  chosenLanguage.value = tag;
  void setLanguage(tag || choose(navigator.languages));
}

function Account() {
  const { name, isAdmin, hasUsers } = session.value;
  if (!hasUsers) return <FirstUser />;
  if (name === null) {
    return (
      <>
        <p class="dim">{t("settings.guest")}</p>
        <Button primary onClick={() => (needsLogin.value = true)}>
          {t("login.title")}
        </Button>
      </>
    );
  }
  return (
    <>
      <p>{t(isAdmin ? "settings.loggedInAdmin" : "settings.loggedIn", { name })}</p>
      <Button onClick={() => void logOut()}>{t("settings.logOut")}</Button>
    </>
  );
}
