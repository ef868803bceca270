"""Runs of packets that are simulated once, so that only rates are simulated again when they change."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from farloop.experiments.variants import Variant, run_variants
from farloop.output.store import digests_of_files
from farloop.results import gears

if TYPE_CHECKING:
    from farloop.experiments.execution import Execution

COLUMNS = ["start_ps", "received_ps", "size_bytes", "ideal_fct_ps"]
"""What errors are made of."""

FIRST, RATES = "farloop-scenario", "farloop-fluid"
"""The crate that simulates scenarios, and the one of those that it rests on that packets do not need."""


@dataclass(frozen=True)
class KeptRun:
    """The flows of a run of packets."""

    flows: pa.Table


@dataclass
class KeptPackets:
    """Runs of packets in a directory, by the keys of their scenarios and the sources of the packet simulator.

    Attributes:
        directory: Where they are kept; it is made where it is missing.
        root: The repository whose sources count.
    """

    directory: Path
    root: Path
    _sources: str = field(default="", init=False, repr=False)

    def simulate(self, variants: Sequence[Variant], execution: Execution, *, group: str = "") -> list[Any]:
        """The runs of all variants, in their order: those of packets that are kept are not made again."""
        paths = [self._path(variant) for variant in variants]
        missing = [variant for variant, path in zip(variants, paths, strict=True) if path is None or not path.is_file()]
        made = iter(run_variants(missing, execution, group=group))
        runs: list[Any] = []
        for path in paths:
            if path is not None and path.is_file():
                runs.append(KeptRun(pq.read_table(path)))
                continue
            run = next(made)
            if path is not None:
                self._keep(run.flows, path)
            runs.append(run)
        return runs

    def _path(self, variant: Variant) -> Path | None:
        """Where a run of packets is kept; None for rates."""
        parsed = variant.scenario.parsed
        if parsed.get("run", {}).get("gear", gears.PACKETS) != gears.PACKETS:
            return None
        self._sources = self._sources or digest_of_sources(self.root)
        made_from = {"scenario": parsed, "files": digests_of_files(variant.scenario), "sources": self._sources}
        address = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()
        return self.directory / f"{address}.parquet"

    def _keep(self, flows: pa.Table, path: Path) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".part")
        pq.write_table(flows.select(COLUMNS), aside)
        aside.replace(path)


def digest_of_sources(root: Path) -> str:
    """The SHA-256 of the crates that a run of packets depends on, and of the versions of others' crates."""
    manifests = {path: tomllib.loads(path.read_text("utf-8")) for path in root.glob("crates/*/Cargo.toml")}
    crates = {manifest["package"]["name"]: (path.parent, manifest) for path, manifest in manifests.items()}
    wanted: set[str] = set()
    waiting = [FIRST]
    while waiting:
        name = waiting.pop()
        if name in wanted or name == RATES or name not in crates:
            continue
        wanted.add(name)
        waiting += crates[name][1].get("dependencies", {})
    files = [root / "Cargo.lock"]
    for name in sorted(wanted):
        files += sorted((crates[name][0] / "src").rglob("*.rs"))
    together = hashlib.sha256()
    for path in files:
        together.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return together.hexdigest()
