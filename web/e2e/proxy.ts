// Reverse proxy that serves another server below a path of its own, as nginx's `proxy_pass` does: it
// removes the path. It also replaces the field Host by the address of the other server, or keeps it,
// as `proxy_set_header Host $http_host` does.

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** Path below which the proxy serves the other server, with slashes at both ends. */
const PREFIX = "/photo-box/";

export interface Proxy {
  /** URL of the other server's root as seen through the proxy. */
  readonly root: string;
  /** Sets the port of the other server. */
  readonly connect: (port: number) => void;
  readonly close: () => void;
}

/** Starts a proxy on a free port. It has no other server until `connect` is called. */
export async function startProxy(keepsHost: boolean): Promise<Proxy> {
  let port = 0;
  const server = createServer((incoming, outgoing) => {
    const target = incoming.url ?? "";
    if (port === 0 || !target.startsWith(PREFIX)) {
      outgoing.writeHead(404).end("not below the proxy's path\n");
      return;
    }
    const headers = keepsHost ? incoming.headers : { ...incoming.headers, host: `127.0.0.1:${port}` };
    const path = target.slice(PREFIX.length - 1);
    const forwarded = request({ host: "127.0.0.1", port, path, method: incoming.method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end());
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    root: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PREFIX}`,
    connect: (other) => (port = other),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
