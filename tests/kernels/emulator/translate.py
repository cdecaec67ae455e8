"""CUDA C++ of kernels/cuda/ as C++ for cuda.h: PTX gives way to what it does, the rest stays."""

import re
from pathlib import Path

from kernels.cuda.sources import expanded

VEC_MAX = """
  unsigned made = 0;
  for (int i = 0; i < 32; i += 16) {{
    {half} p, q;
    p.bits = a >> i, q.bits = b >> i;
    const float u = to_float(p), v = to_float(q);
    made |= unsigned(v != v || u >= v ? p.bits : q.bits) << i;
  }}
  return made;
"""
# Head of a function -> the body that it gets: all that have PTX in them.
BODIES = {
    "inline float to_float(Half x)": "_Float16 y; std::memcpy(&y, &x.bits, 2); return y;",
    "inline void from_float(Half& y, float x)": (
        "const _Float16 half = x; std::memcpy(&y.bits, &half, 2);"
    ),
    "inline void from_float(BFloat16& y, float x)": (
        "unsigned bits; std::memcpy(&bits, &x, 4);"
        " y.bits = x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;"
    ),
    "inline float exp2_approx(float x)": "return std::exp2(x);",
    "inline float max_or_nan(float a, float b)": "return a != a || a > b ? a : b;",
    "inline unsigned cluster_rank()": "return current->block->rank;",
    "inline void cluster_arrive()": (
        "Cluster& all = *current->block->cluster; current->arrived_in = all.waiting.generation;"
        " if (++all.waiting.count == all.threads) all.waiting.count = 0, ++all.waiting.generation;"
    ),
    "inline void cluster_wait()": (
        "const Waiting& all = current->block->cluster->waiting;"
        " while (all.generation == current->arrived_in) yield();"
    ),
    "inline unsigned address_in(unsigned block, const void* dest)": "return 0;",
    "inline void st_async(State* dest, Mbarrier* mbarrier, unsigned block, State state)": (
        "*in_block(dest, block) = state; arrive(in_block(mbarrier, block), sizeof(State));"
    ),
    "inline ulonglong2 load_relaxed(const ulonglong2* from)": "yield(); return *from;",
    "inline unsigned load_relaxed(const unsigned* from)": "yield(); return *from;",
    "inline void store_relaxed(ulonglong2* to, ulonglong2 value)": "*to = value;",
    "inline unsigned shared_address(const void* pointer)": "return 0;",
    "void init()": "barrier = 0;",
    "void expect_tx(unsigned bytes)": "expected[this] += bytes;",
    "void wait()": "while (!barrier) yield();",
    "inline void cp_async_vec(uint4* to, const void* from)": (
        "begin_copy_of_vec(to + VECS, static_cast<const uint4*>(from) + VECS);"
    ),
    "inline void cp_async_word(unsigned* to, const unsigned* from)": (
        "begin_copy_of_word(to, from);"
    ),
    "inline void cp_async_wait()": "end_copies();",
    "inline void fence_mbarrier_init()": "",
    "void wait_for(unsigned phase)": "wait_for_phase(this, phase);",
    "inline unsigned long long l2_policy()": "return 0;",
    "inline void load_bulk(uint4* to, const char* from, unsigned bytes, RingBarrier* loaded,": (
        "begin_bulk_load(to, from, bytes, loaded);"
    ),
    "inline void store_bulk(char* to, const uint4* from, unsigned bytes,": (
        "begin_bulk_store(to, from, bytes);"
    ),
    "inline void wait_for_reads()": "end_bulk_stores(PENDING);",
    "inline State load_from_l2(const State* from)": "yield(); return *from;",
    "inline void prefetch(const void* from, int bytes)": "",
    "inline Vec load_vec_once(const void* from)": "return load_vec<Vec>(from);",
    "inline int opaque(int value)": "return value;",
    "inline float opaque(float value)": "return value;",
    "inline const T* opaque(const T* pointer)": "return pointer;",
    "inline void opaque(uint4& vec)": "",
}
for half in ("Half", "BFloat16"):
    BODIES[f"inline unsigned vec_max(unsigned a, unsigned b, {half})"] = VEC_MAX.format(half=half)
    BODIES[f"inline void from_floats(unsigned& pair, float first, float second, {half})"] = (
        f"{half} p, q; from_float(p, first), from_float(q, second);"
        " pair = p.bits | unsigned(q.bits) << 16;"
    )
for vec in ("unsigned short", "unsigned", "uint2", "uint4"):
    BODIES[f"inline void store_vec({vec}* to, {vec} vec)"] = "checked_store(to, vec);"


def translated(source: Path) -> str:
    """Return a CUDA source with all that it includes. Raises ValueError where PTX is left."""
    text = re.sub(r"#line .*\n", "", expanded(source))
    for head, body in BODIES.items():
        text = _with_body(text, f"__device__ {head}", body)
    text = re.sub(r"#pragma unroll.*", "", text)
    dynamic = r"extern __shared__ (?:__align__\(\d+\) )?uint4 (\w+)\[\];"
    text = re.sub(dynamic, r"uint4* \1 = current->block->dynamic.data();", text)
    numbers = iter(range(1000))

    def shared(match: re.Match) -> str:
        kind, name, size = match.groups()
        alias = f"using {name}_type = {kind}{size}; "
        return f"{alias}{name}_type& {name} = shared_variable<{name}_type>({next(numbers)});"

    text = re.sub(r"__shared__ (\w+) (\w+)((?:\[[^\]]+\])*);", shared, text)
    if left := re.search(r"\basm\b.*", re.sub(r"//.*", "", text)):
        raise ValueError(f"{source}: nothing stands for {left[0]!r}; add its function to BODIES")
    return text


def _with_body(text: str, head: str, body: str) -> str:
    begin = text.find(head)
    if begin < 0:
        return text
    start = text.index("{", begin)
    depth = 0
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return f"{text[:start]}{{ {body} }}{text[end + 1 :]}"
    raise ValueError(f"{head}: its body has no end")
