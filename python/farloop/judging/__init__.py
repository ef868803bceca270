"""What the runs say about the papers' claims: claims and verdicts, what a figure runs, and the measurements that figures share."""
