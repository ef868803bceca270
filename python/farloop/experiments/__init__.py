"""Many simulations: which there are (variants), how and where they run (execution), and the engines that make them."""
