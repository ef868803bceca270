"""Long links of a scenario between real programs: an emulator in user space, and `tc` lines for the kernel's own."""
