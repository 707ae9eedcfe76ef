import { useSignal } from "@preact/signals";

import { ApiError, needsLogin } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { logIn, session } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

/** Form for name and password. If the server has no users, shows the command that adds one. */
export function LoginDialog() {
  const close = () => (needsLogin.value = false);
  return (
    <Dialog title={t("login.title")} onClose={close}>
      {session.value.hasUsers ? <LoginForm /> : <FirstUser />}
    </Dialog>
  );
}

/** Command that adds the first user. */
export function FirstUser() {
  return (
    <>
      <p>{t("login.noUsers")}</p>
      <pre>pelton user add NAME --admin</pre>
    </>
  );
}

function LoginForm() {
  const failure = useSignal<string | null>(null);
  const isSending = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    isSending.value = true;
    try {
      await logIn(String(form.get("name")), String(form.get("password")));
    } catch (error) {
      failure.value = explained(error);
    } finally {
      isSending.value = false;
    }
  };
  return (
    <form class="login" onSubmit={submit}>
      <label class="field">
        <span>{t("login.name")}</span>
        <input name="name" autocomplete="username" required autofocus />
      </label>
      <label class="field">
        <span>{t("login.password")}</span>
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
      <p class="field-error" role="alert">{failure.value}</p>
      <Button primary submit disabled={isSending.value}>
        {t("login.submit")}
      </Button>
    </form>
  );
}

/** Returns the sentence that tells the user why a login failed. */
function explained(error: unknown): string {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401) return t("login.wrong");
  if (error.status === 429) return t("login.tooMany", { count: error.retryAfter ?? 1 });
  return error.status === 0 ? t("error.unreachable") : error.message;
}
