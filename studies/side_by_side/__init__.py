"""Time thirty points with this project and with the usual benchmarking tools."""
