import { url } from "./base.ts";

/** Policy of Trusted Types (W3C Trusted Types §2.3), which TypeScript does not declare yet. */
interface ScriptUrlPolicy {
  readonly createScriptURL: (text: string) => string;
}

type WithTrustedTypes = typeof globalThis & {
  readonly trustedTypes?: { readonly createPolicy: (name: string, rules: ScriptUrlPolicy) => ScriptUrlPolicy };
};

/** Name of the only policy that the server's Content-Security-Policy allows. */
const POLICY = "service-worker";

/**
 * Registers the service worker. The page works without it: private windows refuse service workers,
 * and some proxies hide the file.
 */
export function registerWorker(): void {
  if (!("serviceWorker" in navigator) || !isSecureContext) return;
  const rules: ScriptUrlPolicy = { createScriptURL: () => url("/-/service-worker.js") };
  const policy = (globalThis as WithTrustedTypes).trustedTypes?.createPolicy(POLICY, rules) ?? rules;
  navigator.serviceWorker.register(policy.createScriptURL("")).catch(() => undefined);
}
