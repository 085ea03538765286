#!/usr/bin/python3
"""`heddle mcp` and the protocol's reference client (package mcp of build/peers): a session as an agent has it.

usage: tests/with_peers.py tests/mcp/check_reference.py --heddle PROGRAM

Skips (77) where the package is not there.
"""
import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import mcp
except ImportError:
    print("skipped: no package mcp: tools/setup.sh test installs it in build/peers")
    sys.exit(77)

TOOLS = {"open", "summary", "findings", "report", "query", "timeline", "find", "explain_idle", "stack_of", "compare"}


def field(value, snake):
    """An attribute, whichever of its two names a release of the client has: input_schema, inputSchema."""
    first, *rest = snake.split("_")
    return getattr(value, snake) if hasattr(value, snake) else getattr(value, first + "".join(word.title() for word in rest))


def answer(result):
    assert not field(result, "is_error"), result
    return json.loads(result.content[0].text)


async def session(heddle, folder):
    server = mcp.StdioServerParameters(command=heddle, args=["mcp"], cwd=folder)
    async with mcp.stdio_client(server) as (read, write), mcp.ClientSession(read, write) as client:
        about = await client.initialize()
        assert field(about, "server_info").name == "heddle" and "findings" in about.instructions, about
        await client.send_ping()
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == TOOLS, set(tools)
        assert field(tools["open"], "input_schema")["required"] == ["path"]

        opened = answer(await client.call_tool("open", {"path": "trace.json"}))
        assert opened["trace"] == 0 and opened["tables"][0]["table"] == "file", opened
        assert {"findings", "kernels"} <= {table["table"] for table in answer(await client.call_tool("summary", {}))["tables"]}
        rows = answer(await client.call_tool("query", {"sql": "select count(*) from gpu_slice"}))["tables"][0]["rows"]
        said = subprocess.run([heddle, "query", "--json", "trace.json", "select count(*) as n from gpu_slice"], cwd=folder,
                              check=True, stdout=subprocess.PIPE).stdout
        assert str(rows[0][0]) in said.decode(), (rows, said)
        failed = await client.call_tool("query", {"sql": "selec"})
        assert field(failed, "is_error") and "heddle_tables" in failed.content[0].text, failed

        resources = (await client.list_resources()).resources
        for resource in resources:
            contents = (await client.read_resource(resource.uri)).contents
            assert len(contents) == 1 and contents[0].text, resource
        assert {str(resource.uri) for resource in resources} >= {"heddle://docs/skill", "heddle://reports/idle"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--heddle", required=True, type=lambda name: str(Path(name).resolve()))
    heddle = parser.parse_args().heddle
    with tempfile.TemporaryDirectory(prefix="heddle-mcp-") as folder:
        subprocess.run([heddle, "synth", "-q", "--steps", "3", "-o", "trace.json"], cwd=folder, check=True)
        asyncio.run(session(heddle, folder))
    print("the reference client and heddle mcp understand each other")


main()
