// Modules that the areas have in common. Each area and each part that loads later imports this
// module, so that the bundler puts all of them into one shared file instead of a file for every
// combination of areas and parts.
import "./api.ts";
import "./base.ts";
import "./i18n/messages.ts";
import "./keys.ts";
import "./photos/retry.ts";
import "./photos/names.ts";
import "./photos/paths.ts";
import "./photos/scrubber.ts";
import "./photos/selection.ts";
import "./router.ts";
import "./session.ts";
import "./settings.ts";
import "./ui/button.tsx";
import "./ui/dialog.tsx";
import "./ui/icon.tsx";
import "./ui/message.tsx";
import "./ui/toast.tsx";
import "@preact/signals";
import "preact/hooks";
