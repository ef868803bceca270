"""Pictures (PNG): each paper's figure in the paper's arrangement, and panels that suit any run."""
