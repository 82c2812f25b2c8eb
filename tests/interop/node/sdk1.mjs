// TypeScript SDK 1.x, the client inside OpenCode, Gemini CLI and mcporter.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { settings, walk } from "./walk.mjs";

const client = new Client({ name: "remindi-interop", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(settings.url), {
  requestInit: { headers: { Authorization: `Bearer ${settings.token}` } },
});
await client.connect(transport);
await walk(client, transport.protocolVersion);
