// TypeScript client 2.x, which speaks both protocol generations.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { settings, walk } from "./walk.mjs";

const client = new Client(
  { name: "remindi-interop", version: "1" },
  { versionNegotiation: { mode: settings.mode } },
);
const transport = new StreamableHTTPClientTransport(new URL(settings.url), {
  requestInit: { headers: { Authorization: `Bearer ${settings.token}` } },
});
await client.connect(transport);
await walk(client, client.getNegotiatedProtocolVersion());
