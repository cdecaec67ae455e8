"""Arithmetic of kernels in Triton: exp and log to the last bits, and sums of one order.

A fast exp rounds its argument times log2(e), so its relative error grows with the argument. A
rounded difference x - max costs as much again. ``exact_difference`` and ``exp_of`` keep what was
lost. ``tl.sum`` adds in the order of Triton's layout, which depends on the alignment of addresses,
on the tile's width and on the number of warps; ``tree_sum`` always adds in one order.
The error-free sum is Knuth's (The Art of Computer Programming, volume 2, section 4.2.2).

The compiler may turn a product and a sum into one operation, once and not another time. A kernel
that promises bits is launched with ``enable_fp_fusion=False``, and calls ``tl.fma`` where it wants.
"""

import triton
import triton.language as tl

LOG2E, LN2 = tl.constexpr(1.44269504088896341), tl.constexpr(0.693147180559945309)
# ln 2 in two numbers: the first has 16 bits, so its product with an exponent is exact.
LN2_HIGH, LN2_LOW = tl.constexpr(0.693145751953125), tl.constexpr(1.428606820309417e-06)
SPLIT_ROWS = tl.constexpr(64)  # rows, at most, that ``tree_sum`` moves between threads
SQRT_HALF_BITS = tl.constexpr(0x3F3504F3)  # Bits of the float32 next to the square root of 1/2.


@triton.jit
def tree_sum(z, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Return the sums (1, COLS) over the rows of z (ROWS, COLS), for ROWS a power of two.

    Row r is added to row r + ROWS/2, and so on, which no layout can change. A thread has the first
    of these rows beside each other. ``tl.split`` brings it the others, all at once through shared
    memory; ``tl.sum`` would go there for each level, so only the last one uses it.
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
    """Return the rounded x - y and its rounding error; NaN if the difference is not finite."""
    high = x - y
    back = high - x
    return high, (x - (high - back)) - (y + back)


@triton.jit
def fast_exp(x):
    """Return exp(x) for a sum or an output of 16 bits: its relative error grows with x.

    ``tl.exp`` has three instructions more, for numbers below the normal ones.
    """
    return tl.exp2(x * LOG2E)


@triton.jit
def exp_of(high, low):
    """Return exp(high + low), high at most 0 and low small beside it; 0 for -inf, NaN for NaN.

    With t = high·log2(e) rounded, it is 2^t · exp(high - t·ln 2 + low), the last exp linear.
    Results below the normal numbers of float32 are 0.
    """
    power_of_two = high * LOG2E
    power = tl.exp2(power_of_two)
    remainder = tl.fma(power_of_two, -LN2, high) + low
    # NaN from -inf - -inf is 1, and the result 0.
    remainder = tl.where(remainder < 1.0, remainder, 1.0)
    return tl.fma(power, remainder, power)


@triton.jit
def quotient(x, y, reciprocal):
    """Return x / y, almost always rounded to nearest, from an approximate 1 / y."""
    estimate = x * reciprocal
    return tl.fma(tl.fma(-estimate, y, x), reciprocal, estimate)


@triton.jit
def log_of_one_and(x):
    """Return log(1 + x) for x of at least 0 as the sum of two float32 numbers; NaN for NaN.

    1 + x = 2^k·m, m between √½ and √2, and log m = 2·atanh((m - 1) / (m + 1)), of which the series
    has terms up to the ninth power: the next is below 2^-28 of the sum.
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
