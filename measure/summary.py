"""Print a row for a person who measures by hand."""


def text(row: dict) -> str:
    """Return some lines: the point, status, times and confidence."""
    lines = [
        f"{row['variant']}  {row['M']} x {row['N']} {row['dtype']} ({row['distribution']})"
        f"  on {row['gpu_name']} [{row['gpu']}]",
        f"  status      {row['status']}" + (f": {row['message']}" if row.get("message") else ""),
    ]
    if row.get("max_abs_error") is not None:
        lines.append(
            f"  accuracy    max abs error {row['max_abs_error']:.2e}, relative "
            f"{row['max_rel_error']:.2e}, row sum {row['max_row_sum_error']:.2e}"
        )
    if row["status"] == "ok":
        lines += _times(row)
    if row.get("registers") is not None:
        lines.append(
            f"  kernel      {row['registers']} registers, {row['spilled_bytes']} B spilled, "
            f"{row['shared_bytes']} B shared, {row['num_warps']} warps, "
            f"{row['blocks_per_sm']} blocks per SM"
        )
    if row.get("flags"):
        lines.append(f"  flags       {row['flags']}")
    return "\n".join(lines)


def _times(row: dict) -> list[str]:
    lines = [
        f"  time        {row['time_us']:.3f} µs cold "
        f"(q20 {row['time_us_q20']:.3f}, q80 {row['time_us_q80']:.3f}; "
        f"{row['n_samples']} blocks, stopped by {row['stopped_by']})"
        + (f", warm {row['warm_us']:.3f} µs" if row.get("warm_us") is not None else ""),
        f"  throughput  {row['throughput_gbps']:.1f} GB/s = {row['of_copy']:.1%} of a copy "
        f"({row['copy_us']:.3f} µs)",
        f"  speed-up    {row['speedup']:.4f} over torch "
        f"[{row['speedup_low']:.4f}, {row['speedup_high']:.4f}] (torch {row['torch_us']:.3f} µs)",
        f"  noise floor torch against itself {row['aa_ratio']:.4f} "
        f"[{row['aa_low']:.4f}, {row['aa_high']:.4f}]",
    ]
    if row.get("latency_us") is not None:
        lines.append(f"  latency     {row['latency_us']:.2f} µs of host time per eager call")
    if row.get("rival"):
        lines.append(
            f"  rival       {row['rival_speedup']:.4f} over {row['rival']} "
            f"[{row['rival_low']:.4f}, {row['rival_high']:.4f}]"
        )
    return lines
