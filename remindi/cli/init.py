"""``remindi init``: an env file with fresh secrets and the directories it names, once."""

import os
import secrets
import shlex
import sys
from pathlib import Path
from typing import Final

from remindi.cli.arguments import InitArguments
from remindi.cli.envfile import write_value
from remindi.cli.exits import DATA_DIRECTORY, OK, USAGE
from remindi.cli.service_arguments import DEFAULT_HOST, DEFAULT_PORT

USERNAME: Final = "admin"


def run(arguments: InitArguments) -> int:
    """Make what is missing and print how to connect; nothing that exists is overwritten."""
    try:
        return _make(arguments)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}.")


def _make(arguments: InitArguments) -> int:
    directory, env_file = arguments.directory.absolute(), arguments.env_file
    database = directory / "data" / "remindi.db"
    if env_file.exists() or env_file.is_symlink():
        return _fail(f"{env_file} exists already; nothing was changed.")
    if database.exists():
        return _fail(
            f"{database} exists already, but {env_file} does not; a new owner id would hide what the database"
            " holds. Write the env file by hand, or move the database away. Nothing was changed."
        )
    try:
        text = _env_text(database, directory / "backups")
    except ValueError:
        print(f"remindi: the path {directory} cannot stand in an env file.", file=sys.stderr)
        return USAGE
    for folder in (directory, directory / "data", directory / "backups", env_file.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_new(env_file, text)
    print(_instructions(env_file, arguments.port))
    return OK


def _fail(text: str) -> int:
    print(f"remindi: {text}", file=sys.stderr)
    return DATA_DIRECTORY


def _write_new(path: Path, text: str) -> None:
    """Make a file that did not exist, private from its first moment; a failure leaves none behind."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink()
        raise


def _env_text(database: Path, backups: Path) -> str:
    return "\n".join(
        (
            "# Made by `remindi init`. Private: it holds the secrets of this service.",
            "# Every variable is described in .env.example.",
            "",
            "# Whose items these are. Items of another owner id stay invisible.",
            f"REMINDI_OWNER_ID=owner-{secrets.token_hex(8)}",
            "# Bearer secret of /mcp.",
            f"REMINDI_MCP_TOKEN={secrets.token_urlsafe(32)}",
            f"REMINDI_DB_PATH={write_value(str(database))}",
            f"REMINDI_BACKUP_DIR={write_value(str(backups))}",
            "# Sign-in of the WebUI.",
            f"REMINDI_WEBUI_USERNAME={USERNAME}",
            f"REMINDI_WEBUI_PASSWORD={secrets.token_urlsafe(24)}",
            "",
        )
    )


def _instructions(env_file: Path, port: int) -> str:
    url = f"http://{DEFAULT_HOST}:{port}/mcp"
    where = "" if port == DEFAULT_PORT else f" --port {port}"
    file = shlex.quote(str(env_file))
    program = shlex.quote(sys.argv[0]) if Path(sys.argv[0]).name == "remindi" else "remindi"
    token = f"$(sed -n 's/^REMINDI_MCP_TOKEN=//p' {file})"
    inspector = (
        f"npx -y @modelcontextprotocol/inspector@2 --cli {url} --transport http \\\n"
        f'    --header "Authorization: Bearer {token}"'
    )
    trigger = """'trigger={"type":"after_elapsed","after_seconds":1}'"""
    message = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    return f"""\
Made {env_file} with a random token and password (readable for you alone).

Start the service (`make serve` does so next):
  {program} serve{where} --env-file {file}

Connect an MCP client (Streamable HTTP):
  URL     {url}
  header  Authorization: Bearer <token>; the token is REMINDI_MCP_TOKEN in {env_file}

The commands below take the token from the file; nothing prints it.

List the tools with the MCP Inspector (Node 22 or newer):
  {inspector} \\
    --method tools/list

Add an item and check for it:
  {inspector} \\
    --method tools/call --tool-name remindi_add \\
    --tool-arg project_id=demo 'message=Look at the build' idempotency_key=demo-0001 {trigger}
  {inspector} \\
    --method tools/call --tool-name remindi_check \\
    --tool-arg project_id=demo lifecycle_event=checkpoint

List the tools with curl:
  sed -n 's/^REMINDI_MCP_TOKEN=/Authorization: Bearer /p' {file} |
    curl -sS -H @- -H 'Content-Type: application/json' -H 'Accept: application/json' \\
    -d '{message}' {url}"""
