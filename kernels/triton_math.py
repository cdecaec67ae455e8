"""Arithmetic for kernels in Triton: precise exp and log, and sums in a fixed order.

A fast exp rounds the product of its argument and log2(e), so its relative error grows with the
argument; rounding the difference x - max adds as much again. ``exact_difference`` and ``exp_of``
carry along what was lost. ``tl.sum`` adds in the order of Triton's layout, which depends on the
alignment of addresses, the width of the tile and the number of warps; ``tree_sum`` always adds in
the same order. The error-free sum is Knuth's (The Art of Computer Programming, vol. 2, 4.2.2).

The compiler may contract a product and a sum to an fma in one instance of a kernel but not in
another. A kernel that promises the same bits sets ``enable_fp_fusion=False`` and calls ``tl.fma``.
"""

import triton
import triton.language as tl

LOG2E, LN2 = tl.constexpr(1.44269504088896341), tl.constexpr(0.693147180559945309)
# ln 2 in two parts: the first has 16 bits, so its product with an exponent is exact.
LN2_HIGH, LN2_LOW = tl.constexpr(0.693145751953125), tl.constexpr(1.428606820309417e-06)
SPLIT_ROWS = tl.constexpr(64)  # rows, at most, that ``tree_sum`` brings to one thread
SQRT_HALF_BITS = tl.constexpr(0x3F3504F3)  # bits of the float32 next to the square root of 1/2


@triton.jit
def tree_sum(z, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Return the sums (1, COLS) over the rows of z (ROWS, COLS), where ROWS is a power of two.

    Rows r and r + ROWS/2 are added, then again in halves, whatever the layout. Down to SPLIT_ROWS
    rows ``tl.sum`` adds the two halves. Then ``tl.split`` brings a thread all its rows at once,
    through shared memory; ``tl.sum`` would go there at every level, so only the last one uses it.
    """
    if ROWS > SPLIT_ROWS:
        z = tree_sum(tl.sum(tl.reshape(z, (2, ROWS // 2, COLS)), axis=0), ROWS // 2, COLS)
    else:
        z = tl.trans(z)
        for level in tl.static_range(0, ROWS.bit_length() - 2):
            halves = tl.reshape(z, (COLS, 2, (ROWS >> level) // 2))
            first, second = tl.split(tl.permute(halves, (0, 2, 1)))
            z = first + second
        z = tl.sum(z, axis=1)[None, :]
    return z


@triton.jit
def exact_difference(x, y):
    """Return x - y, rounded, and its rounding error; that is NaN if x - y is not finite."""
    high = x - y
    back = high - x
    return high, (x - (high - back)) - (y + back)


@triton.jit
def fast_exp(x):
    """Return exp(x), precise enough for sums and 16-bit outputs; its relative error grows with x.

    ``tl.exp`` takes three more instructions, for subnormal numbers.
    """
    return tl.exp2(x * LOG2E)


@triton.jit
def exp_of(high, low):
    """Return exp(high + low) for high <= 0 and a low that is small beside it; NaN for NaN.

    With t = high·log2(e), rounded, it is 2^t · exp(high - t·ln 2 + low), and the last factor is
    1 plus its argument. For -inf, and where the result would be subnormal in float32, it is 0.
    """
    power_of_two = high * LOG2E
    power = tl.exp2(power_of_two)
    remainder = tl.fma(power_of_two, -LN2, high) + low
    # -inf - -inf is NaN, which becomes 1 here; `power` is 0, and so is the result
    remainder = tl.where(remainder < 1.0, remainder, 1.0)
    return tl.fma(power, remainder, power)


@triton.jit
def quotient(x, y, reciprocal):
    """Return x / y, almost always correctly rounded, from an approximate reciprocal of y."""
    estimate = x * reciprocal
    return tl.fma(tl.fma(-estimate, y, x), reciprocal, estimate)


@triton.jit
def log_of_one_and(x):
    """Return log(1 + x) for x >= 0 as the sum of two float32 numbers; NaN for NaN.

    1 + x = 2^k·m with m between √½ and √2, and log m = 2·atanh((m - 1) / (m + 1)). The series of
    atanh is cut after the ninth power; the next term is below 2^-28 of the sum.
    """
    total, lost = exact_difference(1.0, -x)
    bits = total.to(tl.int32, bitcast=True)
    exponent = (bits - SQRT_HALF_BITS) >> 23
    m = (bits - (exponent << 23)).to(tl.float32, bitcast=True)
    above, below = m - 1.0, m + 1.0
    below_lost = m - (below - 1.0)
    reciprocal = 1.0 / below
    ratio = quotient(above, below, reciprocal)
    ratio_lost = tl.fma(-ratio, below_lost, tl.fma(-ratio, below, above)) * reciprocal
    square = ratio * ratio
    series = square * (1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9))))
    by_exponent = exponent.to(tl.float32)
    high, low = exact_difference(by_exponent * LN2_HIGH, -2.0 * ratio)
    low += 2.0 * tl.fma(ratio, series, ratio_lost) + by_exponent * LN2_LOW + lost / total
    rounded = high + low
    return rounded, low - (rounded - high)
