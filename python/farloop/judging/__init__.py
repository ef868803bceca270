"""The papers' claims against the runs: claims and verdicts, the runs of a figure, and the measurements that figures share."""
