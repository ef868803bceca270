"""The papers' figures: `PAPER/FIGURE.toml` is a figure's scenario with its claims, and `PAPER/FIGURE.py` beside it judges and draws them.

The module of a figure is found by the figure's name, hyphens included. It has

- `judge(comparison, claims) -> list[Finding]`: one finding for each claim, with all its statements; what the runs at hand cannot decide is
  undecided ([Judging][farloop.judging.claims.Judging]),
- `draw(comparison) -> dict[str, Figure]`: pictures in the paper's arrangement, by name.

A figure whose name begins with `kernel-` is another one at a scale that a testbed forwards (`farloop testbed figure`); its module says at
which, and judges by the other's.

A paper's `common.py` has the code that its figures share; `farloop.judging` has the code of all papers.
"""
