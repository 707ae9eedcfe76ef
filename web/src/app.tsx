import "./shared.ts";

import { useSignal, useSignalEffect } from "@preact/signals";
import { type FunctionComponent, render } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { LoginDialog } from "./account/login.tsx";
import { needsLogin, reachable, recoveries, watchConnection } from "./api.ts";
import { AREAS, type Area, type AreaProps, MORE } from "./areas.ts";
import { decoded } from "./base.ts";
import { choose, loadMessages, setLanguage, t } from "./i18n/messages.ts";
import { addCommands, startKeys } from "./keys.ts";
import { PlayerSlot } from "./music/slot.tsx";
import { address, href, navigate, startRouter } from "./router.ts";
import { loadSession, session } from "./session.ts";
import { chosenLanguage, followScheme } from "./settings.ts";
import { HelpDialog, showHelp } from "./ui/help.tsx";
import { Icon } from "./ui/icon.tsx";
import { Failure, Message } from "./ui/message.tsx";
import { ToastRegion } from "./ui/toast.tsx";
import { registerWorker } from "./worker.ts";

/** Components of the areas that have been loaded, by path. */
const loaded = new Map<string, FunctionComponent<AreaProps>>();

function Page() {
  const { path, query } = address.value;
  const [first = "", ...rest] = path.split("/").map(decoded);
  const area = [...AREAS, ...MORE].find((it) => it.path === (first || "photos"));
  return (
    <div class="page">
      <a class="skip" href="#main">
        {t("skip")}
      </a>
      <Navigation present={area} />
      <TopBar />
      <main id="main" tabIndex={-1}>
        {area ? <AreaView key={area.path} area={area} parts={rest} query={query} /> : <Message icon="search" title={t("error.noView")} />}
      </main>
      <PlayerSlot />
      <ToastRegion />
      <HelpDialog />
      {needsLogin.value && <LoginDialog />}
    </div>
  );
}

function Navigation({ present }: { present: Area | undefined }) {
  const areas = AREAS.filter((area) => !area.isForAdmins || session.value.isAdmin || !session.value.hasUsers);
  return (
    <nav class="rail" aria-label={t("nav.label")}>
      <a class="brand" href={href("")} title="Pelton">
        <img src={new URL("icon.svg", import.meta.url).href} alt="Pelton" width="36" height="36" />
      </a>
      {areas.map((area) => (
        <a class="rail-link" href={href(area.path)} aria-current={area === present ? "page" : undefined}>
          <Icon name={area.icon} />
          <span>{t(area.label)}</span>
        </a>
      ))}
    </nav>
  );
}

/** Pause in typing after which a search starts, in milliseconds. */
const TYPING_MS = 200;

function TopBar() {
  const input = useRef<HTMLInputElement>(null);
  const text = address.value.query.get("q") ?? "";
  useEffect(
    () =>
      addCommands({
        title: "keys.page",
        commands: [
          { keys: ["/"], label: "keys.search", run: () => input.current?.focus() },
          { keys: ["?"], label: "keys.help", run: showHelp },
        ],
      }),
    [],
  );
  const area = address.value.path.startsWith("music") ? "music" : "photos";
  const submit = (event: Event) => {
    event.preventDefault();
    clearTimeout(timer.current);
    const q = input.current?.value.trim() ?? "";
    navigate(q ? `${area}/search` : area, { query: q ? { q } : {} });
  };
  useEffect(() => {
    // While the user types, the text of the field is newer than that in the address.
    if (input.current && document.activeElement !== input.current) input.current.value = text;
  }, [text]);
  // In the areas with search results, each pause in typing starts a search.
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const type = () => {
    clearTimeout(timer.current);
    const { path } = address.value;
    const isSearch = path === `${area}/search`;
    const q = input.current?.value.trim() ?? "";
    const search = () => navigate(q || area === "music" ? `${area}/search` : area, { replace: isSearch, query: q ? { q } : {} });
    if (isSearch || (q && (path === "" || path.startsWith(area)))) timer.current = setTimeout(search, TYPING_MS);
  };
  return (
    <header class="top">
      <form role="search" class="search" onSubmit={submit} onInput={type}>
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          name="q"
          placeholder={t(area === "music" ? "search.music" : "search.photos")}
          aria-label={t("search.label")}
          autocomplete="off"
        />
      </form>
      {!reachable.value && <span class="offline" role="status">{t("error.offline")}</span>}
      <a class="icon-button" href={href("settings")} title={session.value.name ?? t("nav.settings")} aria-label={t("nav.settings")}>
        <Icon name={session.value.name ? "user" : "settings"} />
      </a>
    </header>
  );
}

/** Component of an area, once its module is loaded. */
function AreaView({ area, parts, query }: AreaProps & { area: Area }) {
  const component = useSignal(loaded.get(area.path));
  const error = useSignal<unknown>(null);
  const load = () => {
    error.value = null;
    Promise.all([area.load(), area.messages && loadMessages(area.messages)]).then(
      ([module]) => {
        loaded.set(area.path, module.default);
        component.value = module.default;
      },
      (reason: unknown) => (error.value = reason),
    );
  };
  useEffect(() => {
    if (!component.value) load();
  }, []);
  useSignalEffect(() => {
    document.title = `${t(area.label)} · Pelton`;
  });
  if (error.value) return <Failure error={error.value} retry={load} />;
  const View = component.value;
  return View ? <View parts={parts} query={query} /> : <div class="loading" aria-busy="true" />;
}

function start(): void {
  const icon = document.querySelector<HTMLLinkElement>("[rel=icon]");
  // The shell's relative address of the icon would be wrong at the addresses of other views.
  icon?.setAttribute("href", icon.href);
  followScheme();
  startRouter();
  startKeys();
  watchConnection();
  const wanted = chosenLanguage.value ? [chosenLanguage.value] : navigator.languages;
  const load = () => setLanguage(choose(wanted)).catch(() => setLanguage("en"));
  // Without its messages, the page shows their keys until the server responds again.
  const ready = load().catch(() => recoveries.subscribe(() => void load().catch(() => undefined)));
  reachable.subscribe((isReachable) => isReachable && void loadSession());
  void ready.finally(() => render(<Page />, document.getElementById("app") as HTMLElement));
  registerWorker();
}

start();
