// The steps of ../walk.py for the Node clients. Prints one JSON report; the assertions are in Python.

export const settings = JSON.parse(process.env.REMINDI_INTEROP);

function structured(result) {
  if (result.isError !== !result.structuredContent.ok) {
    throw new Error(`isError is ${result.isError} for ok ${result.structuredContent.ok}`);
  }
  return result.structuredContent;
}

export async function walk(client, negotiated) {
  const call = async (name, args) => structured(await client.callTool({ name, arguments: args }));
  const { tools } = await client.listTools();
  const added = await call("remindi_add", settings.add);
  const checked = await call("remindi_check", settings.check);
  const { remindi_id, version } = checked.data.items[0];
  const complete = (expected_version) =>
    call("remindi_complete", {
      ...settings.complete,
      remindi_id,
      expected_version,
      idempotency_key: `${settings.complete.idempotency_key}-${expected_version}`,
    });
  const report = {
    negotiated,
    server: client.getServerVersion(),
    tools: tools.map((tool) => tool.name),
    added,
    checked,
    refused: await complete(version + 7),
    completed: await complete(version),
  };
  await client.close();
  console.log(JSON.stringify(report));
}
