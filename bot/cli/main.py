"""The `gpubot` command. Heavy modules are imported by the command that needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.replay import replay
from bot.cli.simulate import simulate

app = typer.Typer(
    name="gpubot",
    help="A Slack bot that replaces the #gpu-resources channel.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(help="Measure this machine.", no_args_is_help=True)
policy_app = typer.Typer(help="The policy file.", no_args_is_help=True)
db_app = typer.Typer(help="The database, while no bot uses it.", no_args_is_help=True)
app.command("replay")(replay)
app.command("simulate")(simulate)
app.add_typer(policy_app, name="policy")
app.add_typer(bench_app, name="bench")
app.add_typer(db_app, name="db")


def stop_with(message: str, code: int = 2) -> typer.Exit:
    """Say on stderr why the command ends, and give the exit to raise."""
    typer.echo(f"gpubot: {message}", err=True)
    return typer.Exit(code)


@app.command()
def demo(
    port: Annotated[
        int | None, typer.Option(help="Port of the page; without it the first free one.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="Folder that keeps the demo between runs.")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Play a real trace (ITP or Philly columns, .gz too).")
    ] = None,
    speed: Annotated[
        float, typer.Option(help="Seconds of the demo's world in one of ours, at most.")
    ] = 30,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the last run first.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Start a local workspace, the real bot and a busy simulated cluster of 10,000 GPUs."""
    from bot.cli.demo import DemoError, run_demo  # noqa: PLC0415 - see the module

    try:
        run_demo(port=port, state=state, trace=trace, speed=speed, fresh=fresh, browser=browser)
    except DemoError as error:
        raise stop_with(str(error)) from error


@app.command()
def serve() -> None:
    """Run the bot against the workspace that the environment names."""
    from bot.cli.serve import ServeError, run_serve  # noqa: PLC0415 - see the module

    try:
        run_serve()
    except ServeError as error:
        raise stop_with(str(error)) from error


@app.command()
def doctor() -> None:
    """Check tokens, scopes, database, policy, people, clock and cluster; say what to do."""
    from bot.cli.doctor import examine  # noqa: PLC0415 - see the module

    well = True
    for finding in examine():
        well = well and finding.well
        mark = "FAIL" if not finding.well else "warn" if finding.cure else "ok  "
        typer.echo(f"{mark}  {finding.what}: {finding.seen}")
        if finding.cure:
            typer.echo(f"      -> {finding.cure}")
    if not well:
        raise typer.Exit(1)


@policy_app.command("check")
def policy_check(
    file: Annotated[Path | None, typer.Argument(help="Without it, the default policy.")] = None,
) -> None:
    """Say what is wrong in a policy file, or what it amounts to."""
    from bot.promises import hollow_as_described, say_hollow  # noqa: PLC0415 - see the module
    from bot.shipped import read_policy  # noqa: PLC0415 - see the module
    from scheduler.policy import PolicyError, compile_policy  # noqa: PLC0415 - see the module

    try:
        layout = compile_policy(read_policy(file))
    except PolicyError as error:
        raise stop_with(str(error), code=1) from error
    typer.echo(
        f"ok: {len(layout.teams)} teams, {len(layout.queues)} queues in {len(layout.pools)} pools,"
        f" {len(layout.flavors)} flavors, {len(layout.rules)} routing rules"
    )
    for line in say_hollow(hollow_as_described(layout)):
        typer.echo(f"warning: {line}")


@policy_app.command("kueue")
def policy_kueue(
    file: Annotated[Path | None, typer.Argument(help="Without it, the default policy.")] = None,
) -> None:
    """Print a policy as Kueue manifests, for `kubectl apply -f -` or `gpubot simulate -`."""
    import yaml  # noqa: PLC0415 - see the module

    from bot.shipped import read_policy  # noqa: PLC0415 - see the module
    from scheduler.manifests.writing import write_manifests  # noqa: PLC0415 - see the module
    from scheduler.policy import PolicyError, compile_policy  # noqa: PLC0415 - see the module

    try:
        layout = compile_policy(read_policy(file))
    except PolicyError as error:
        raise stop_with(str(error), code=1) from error
    typer.echo(yaml.safe_dump_all(write_manifests(layout), sort_keys=False), nl=False)


@db_app.command("import")
def db_import(
    source: Annotated[str, typer.Argument(help="The address of the database to copy from.")],
    target: Annotated[
        str,
        typer.Option(
            envvar="GPUBOT_DATABASE_URL",
            help="That of an empty one to copy to.",
            show_default=False,
        ),
    ],
) -> None:
    """Copy all of one database into an empty one, for example from SQLite to PostgreSQL."""
    from bot.cli.database import DatabaseError, run_import  # noqa: PLC0415 - see the module

    try:
        rows = run_import(source, target)
    except DatabaseError as error:
        raise stop_with(str(error), code=1) from error
    typer.echo(f"copied {rows:,} rows: start the bot with the new database, and not with the old")


@bench_app.command("chat")
def bench_chat(
    rounds: Annotated[int, typer.Option(help="Slash commands of one person to time.")] = 60,
    seconds: Annotated[float, typer.Option(min=1, help="How long 200 people speak.")] = 60.0,
) -> None:
    """Time acknowledgement and answer with 5,000 running and 10,000 waiting requests."""
    from bot.cli.bench import run_bench_chat  # noqa: PLC0415 - see the module

    if not run_bench_chat(rounds, seconds):
        raise typer.Exit(1)


@bench_app.command("announce")
def bench_announce() -> None:
    """Time how soon the channel hears of 500 admissions of one cycle, at Slack's pace."""
    from bot.cli.announcing import BenchError, run_bench_announce  # noqa: PLC0415 - see the module

    try:
        well = run_bench_announce()
    except BenchError as error:
        raise stop_with(str(error)) from error
    if not well:
        raise typer.Exit(1)


@bench_app.command("forecast")
def bench_forecast(
    rounds: Annotated[int, typer.Option(min=2, help="Questions to time.")] = 40,
) -> None:
    """Time when work would start and what would help, with 5,000 running and 10,000 waiting."""
    from bot.cli.forecasting import run_bench_forecast  # noqa: PLC0415 - see the module

    if not run_bench_forecast(rounds):
        raise typer.Exit(1)


@bench_app.command("kubernetes")
def bench_kubernetes(
    large: Annotated[bool, typer.Option(help="Also start on 12,500 nodes, 50,000 pods.")] = True,
) -> None:
    """Measure the bot against an emulated Kubernetes API server (from the source tree)."""
    from bot.cli.kubernetes_bench import (  # noqa: PLC0415 - see the module
        BenchError,
        run_bench_kubernetes,
    )

    try:
        well = run_bench_kubernetes(large=large)
    except BenchError as error:
        raise stop_with(str(error)) from error
    if not well:
        raise typer.Exit(1)


@bench_app.command("placement")
def bench_placement(
    nodes: Annotated[
        list[int] | None, typer.Option(min=1, help="Size of a cluster; may be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Placements to time in each.")] = 300,
) -> None:
    """Time one placement by size of the cluster and how full it is, in microseconds."""
    from bot.cli.placement import run_bench_placement  # noqa: PLC0415 - see the module

    run_bench_placement(nodes or [1_250, 12_500], runs)


@bench_app.command("kueue-baseline")
def bench_baseline(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Run the load of Kueue's performance suite: 15,000 workloads in 30 queues, in real time."""
    from bot.cli.suite import run_suite  # noqa: PLC0415 - see the module

    run_suite("kueue-baseline", as_json=as_json)


@bench_app.command("kueue-large")
def bench_large(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Run the large load of the same suite: 50,000 workloads in 1,000 queues, in real time."""
    from bot.cli.suite import run_suite  # noqa: PLC0415 - see the module

    run_suite("kueue-large", as_json=as_json)


@bench_app.command("kueue-tas")
def bench_tas(
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Run the topology load of the same suite: 15,000 gangs on 640 nodes, in real time."""
    from bot.cli.suite import run_suite  # noqa: PLC0415 - see the module

    run_suite("kueue-tas", as_json=as_json)
