"""`gpubot replay` as a person meets it: what it prints, and what it says to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli.main import app

ROOT = Path(__file__).parents[3]
ITP = ROOT / "tests" / "data" / "itp_slice.csv"
PHILLY = ROOT / "tests" / "data" / "philly_slice.csv.gz"
POLICY = ROOT / "deploy" / "policy.yaml"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, args)])


def report(*args: str | Path) -> dict[str, object]:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.stdout)
    assert isinstance(shown, dict)
    return shown


@pytest.mark.parametrize("trace", [ITP, PHILLY], ids=["itp", "philly"])
def test_a_real_slice_reports_every_documented_key(trace: Path) -> None:
    shown = report("--trace", trace, "--nodes", "20")
    assert list(shown) == [
        *("jobs", "admitted", "finished", "never_fit", "utilisation", "fragmentation", "wait_s"),
        *("preemptions", "gpu_hours_lost", "partial_gangs", "wall_s", "decisions_per_s"),
        *("peak_rss_mb", "whole_free_gpus", "loaded_utilisation", "loaded_fragmentation"),
    ]
    assert isinstance(shown["wait_s"], dict)
    assert list(shown["wait_s"]) == ["all", "1", "2-7", "8", "9-64", "65+"]
    assert list(shown["wait_s"]["all"]) == ["mean", "p50", "p95", "p99", "n"]
    assert shown["jobs"] == shown["admitted"] == shown["finished"] == 400
    assert shown["partial_gangs"] == 0


def test_limit_and_copies() -> None:
    shown = report("--trace", ITP, "--limit", "50", "--copies", "3", "--nodes", "20")
    assert shown["jobs"] == 150


def test_a_higher_load_keeps_the_cluster_busier() -> None:
    given = ("--trace", ITP, "--nodes", "12", "--load")
    low, high = report(*given, "0.3"), report(*given, "0.9")
    assert low["finished"] == high["finished"] == 400
    assert isinstance(low["loaded_utilisation"], float)
    assert isinstance(high["loaded_utilisation"], float)
    assert low["loaded_utilisation"] < high["loaded_utilisation"]


def test_starts_that_are_foretold_are_compared_with_those_that_come() -> None:
    few = ("--trace", str(ITP), "--nodes", "2", "--load", "2", "--estimates", "3")
    told = json.loads(run(*few, "--json").stdout)["estimates"]
    assert list(told) == ["all", "1", "2-7", "8", "9-64", "65+"]
    assert told["all"]["asked"] > 0
    assert "not overtaken" in run(*few, "--undeclared").stdout


def test_a_policy_of_ones_own() -> None:
    shown = report("--trace", PHILLY, "--policy", POLICY)
    assert shown["jobs"] == shown["finished"] == 400


def test_the_text_says_which_policy_was_made() -> None:
    result = run("--trace", ITP)
    assert result.exit_code == 0
    assert "made for the trace: one guaranteed queue a tenant" in result.stdout
    assert "partial gangs  0" in result.stdout
    assert result.stderr == ""


def test_help_says_what_policy_is_made_without_one() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "guaranteed" in result.stdout


BAD: dict[str, tuple[list[str | Path], str]] = {
    "no trace": ([], "--trace is needed"),
    "no such file": (["--trace", "nowhere.csv"], "'nowhere.csv' cannot be read: No such file"),
    "a folder": (["--trace", ROOT], "Is a directory"),
    "not a trace": (["--trace", ROOT / "pyproject.toml"], "line 1"),
    "zero nodes": (["--trace", ITP, "--nodes", "0"], "--nodes must be a whole number from 1"),
    "negative nodes": (["--trace", ITP, "--nodes", "-4"], "not '-4'"),
    "no number": (["--trace", ITP, "--nodes", "many"], "not 'many'"),
    "far too many": (["--trace", ITP, "--nodes", "9" * 30], "from 1 to 100000"),
    "zero GPUs": (["--trace", ITP, "--gpus-per-node", "0"], "--gpus-per-node must be"),
    "zero copies": (["--trace", ITP, "--copies", "0"], "--copies must be"),
    "negative limit": (["--trace", ITP, "--limit", "-1"], "--limit must be"),
    "no load": (["--trace", ITP, "--load", "0"], "--load must be a share such as 0.95"),
    "a load in words": (["--trace", ITP, "--load", "high"], "not 'high'"),
    "load of one job": (["--trace", ITP, "--limit", "1", "--load", "1"], "--load cannot be had"),
    "zero racks": (["--trace", ITP, "--rack", "0"], "--rack must be a whole number from 1"),
    "blocks of nothing": (["--trace", ITP, "--block", "4"], "give the nodes of a rack with --rack"),
    "levels twice": (["--trace", ITP, "--rack", "4", "--policy", POLICY], "without --policy"),
    "failures in words": (["--trace", ITP, "--failures", "few"], "--failures must be"),
    "no such policy": (["--trace", ITP, "--policy", "no.yaml"], "the policy 'no.yaml' cannot"),
    "broken policy": (["--trace", ITP, "--policy", ROOT / "pyproject.toml"], "pyproject.toml:"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_gets_one_line_an_example_and_exit_code_2(kind: str) -> None:
    args, said = BAD[kind]
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Example: gpubot replay --trace" in result.stderr


def test_a_trace_of_which_nothing_fits(tmp_path: Path) -> None:
    trace = tmp_path / "huge.csv"
    trace.write_text(
        "cluster,job_id,submission_time,duration,num_gpu\na,x,1,10,64\n", encoding="utf-8"
    )
    result = run("--trace", trace, "--nodes", "1")
    assert result.exit_code == 2
    assert "none of the 1 jobs" in result.stderr
    assert "8 GPUs" in result.stderr


def test_placements_are_compared_in_one_run() -> None:
    result = run("--trace", ITP, "--nodes", "12", "--placement", "least-free,first-fit,spread")
    assert result.exit_code == 0, result.output
    names = [line.split()[0] for line in result.stdout.splitlines()[3:]]
    assert names == ["least-free", "first-fit", "spread"]


def test_spreading_strands_more_than_packing() -> None:
    shown = report("--trace", ITP, "--nodes", "20", "--placement", "least-free,spread")
    ours, theirs = shown["least-free"], shown["spread"]
    assert isinstance(ours, dict)
    assert isinstance(theirs, dict)
    assert ours["finished"] == theirs["finished"] == 400
    assert ours["fragmentation"] < theirs["fragmentation"]
    assert ours["whole_free_gpus"] > theirs["whole_free_gpus"]


def test_an_unknown_placement_is_named_with_those_there_are() -> None:
    result = run("--trace", ITP, "--placement", "best")
    assert result.exit_code == 2
    assert "each also with +defrag and +backfill, not 'best'" in result.stderr


def test_room_that_is_kept_shortens_the_wait_of_gangs() -> None:
    """Those of several nodes; and nobody is lost by it."""
    both = report(
        "--trace", ITP, "--nodes", "8", "--declared", "1",
        "--placement", "least-free,least-free+backfill",
    )  # fmt: skip
    kept, without = both["least-free+backfill"], both["least-free"]
    assert isinstance(kept, dict)
    assert isinstance(without, dict)
    assert kept["finished"] == without["finished"] == 400
    assert kept["wait_s"]["9-64"]["mean"] < without["wait_s"]["9-64"]["mean"]
    assert kept == {
        **report("--trace", ITP, "--nodes", "8", "--declared", "1", "--backfill"),
        **{key: kept[key] for key in ("wall_s", "decisions_per_s", "peak_rss_mb")},
    }


@pytest.mark.parametrize("factor", ["soon", "0", "-1", "11"])
def test_a_declared_time_is_a_multiple_of_the_run_time(factor: str) -> None:
    result = run("--trace", ITP, "--declared", factor)
    assert result.exit_code == 2
    assert f"--declared must be a share such as 0.95, not {factor!r}" in result.stderr


def test_defragmentation_reports_what_it_moved() -> None:
    both = report("--trace", ITP, "--nodes", "10", "--placement", "spread,spread+defrag")
    shown, without = both["spread+defrag"], both["spread"]
    assert isinstance(shown, dict)
    assert isinstance(without, dict)
    assert "defragmentation" not in without
    assert shown["finished"] == 400
    assert list(shown["defragmentation"]) == ["moves", "gpus_made_whole", "gpu_hours_spent"]
    assert shown["defragmentation"]["moves"] > 0
    assert shown["defragmentation"]["gpus_made_whole"] >= 8
    assert shown["partial_gangs"] == 0
    assert "GPUs made whole" in run("--trace", ITP, "--nodes", "10", "--defrag").stdout


def test_racks_and_blocks_are_reported_by_level() -> None:
    given = ("--trace", ITP, "--nodes", "20", "--rack", "4", "--block", "2")
    shown = report(*given)
    assert isinstance(shown["levels"], dict)
    assert {level: found["domains"] for level, found in shown["levels"].items()} == {
        "gpubot.dev/block": 3,
        "gpubot.dev/rack": 5,
    }
    said = run(*given).stdout
    assert " of 5 wholly free, room for a gang of " in said


def test_gangs_get_other_nodes_when_nodes_fail() -> None:
    given = ("--trace", ITP, "--nodes", "20", "--failures", "15")
    shown = report(*given)
    mended = shown["node_failures"]
    assert isinstance(mended, dict)
    assert mended["failures"] == 15
    assert mended["gangs_repaired"] > 0
    assert shown["finished"] == shown["jobs"] == 400
    assert shown["partial_gangs"] == 0
    assert "node failures  15 (" in run(*given).stdout
