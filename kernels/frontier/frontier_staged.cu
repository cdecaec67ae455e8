// Long rows staged in shared memory, mostly unaligned ones. Each warp copies the aligned vectors
// that hold its tile (load_tile), reduces vectors counted from the row's first element, so that
// sums do not depend on the alignment (LaneVecs), merges states with the other warps of the row
// (RowPart), and reads the same elements again, in the alignment of the output (store_tile).
#include "cluster.cuh"
#include "cp_async.cuh"
#include "epilogue.cuh"
#include "narrow.cuh"

// Return the position of a vector within its 128-byte cache line, 0 to 7.
__device__ inline int place_in_line(const void* vec) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(vec) / kVecBytes % kLineVecs);
}

// Copy the vectors first_vec, first_vec + 32, ... that lie in [0, end). `first_vec`, the calling
// lane's, may be negative. Both pointers are those of vector first_vec.
template <int TURNS, int TURN = 0>
__device__ inline void cp_async_vecs(uint4* to, const void* from, int first_vec, int end) {
  if constexpr (TURN < TURNS) {
    if ((TURN > 0 || first_vec >= 0) && first_vec + TURN * kWarp < end)
      cp_async_vec<TURN * kWarp>(to, from);
    cp_async_vecs<TURNS, TURN + 1>(to, from, first_vec, end);
  }
}

// Copy all aligned vectors that overlap `count` elements at `from`: at most K per lane, and two
// more. Returns the offset of the first element in `smem`, in elements. The whole warp must call
// it, and must wait for the copies (cp_async_wait, __syncwarp) before it reads.
template <typename T, int K>
__device__ int load_tile(uint4* smem, const T* from, int count) {
  const AlignedRow<const T> run(from);
  const int before = run.elements_off(), vecs = (before + count + kVecElems<T> - 1) / kVecElems<T>;
  // start at a line boundary, so that each load instruction of the warp covers whole cache lines
  const int first_vec = static_cast<int>(threadIdx.x) % kWarp - place_in_line(run.vecs);
  cp_async_vecs<K + 1>(smem + first_vec, run.at(first_vec), first_vec, vecs);
  return before;
}

// A tile in shared memory: elements of type In, of which the first may lie anywhere in a vector.
template <typename T, typename In>
struct SmemTile {
  using Vec = NarrowVec<In, T>;
  const Vec* vecs;
  int off;  // byte offset of the tile's first element in its first vector

  __device__ SmemTile(const uint4* smem, int before)
      : vecs(reinterpret_cast<const Vec*>(smem) + before / kVecElems<T>),
        off(before % kVecElems<T> * static_cast<int>(sizeof(In))) {}

  // Return vector i, counted from the first element, as type T. QUARTER: off / 4.
  template <int QUARTER>
  __device__ uint4 vec(int i) const {
    return widened<In>(funnel_shift<In, QUARTER>(vecs[i], vecs[i + 1], off % 4));
  }
  // Return the same if off is 0.
  __device__ uint4 aligned_vec(int i) const { return widened<In>(vecs[i]); }
  // Call run(Constant<off / 4>()).
  template <typename F>
  __device__ void dispatch(const F& run) const {
    dispatch_quarter<sizeof(Vec)>(off, run);
  }
};

// A lane's K vectors of its warp's tile: lane, lane + 32, ... An access reads shared memory again.
template <typename T, typename In, int K, int QUARTER>
struct LaneVecs {
  static constexpr int kMaybeAbsent = 2;  // the last vectors of a lane, which a tile may lack
  const SmemTile<T, In>& tile;
  int end;  // elements of the tile

  __device__ uint4 operator[](int k) const {
    const int i = k * kWarp + static_cast<int>(threadIdx.x) % kWarp;
    uint4 vec = tile.template vec<QUARTER>(i);
    if (k >= K - kMaybeAbsent) {
      const int count = end - i * kVecElems<T>;
      if (count < kVecElems<T>) vec = mask_tail<T>(vec, count);
    }
    return vec;
  }

  // Return the state of the warp's elements, to every lane.
  template <typename Sums>
  __device__ SoftmaxState state() const {
    uint4 largest = (*this)[0];
#pragma unroll
    for (int k = 1; k < K; ++k) largest = vec_max<T>(largest, (*this)[k]);
    Summation<Sums> summation(max_of_lanes(max_element<T>(largest)));
    float sum = 0.0f;
    // Without this barrier the compiler keeps all vectors in registers, which lowers the occupancy.
    __syncwarp();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float value[kVecElems<T>];
      unpack<T>((*this)[k], value);
#pragma unroll
      for (int i = 0; i < kVecElems<T>; ++i) value[i] = summation.term(value[i]);
      sum += tree_reduce<Sum, kVecElems<T>>(value);
    }
    return summation.state(sum);
  }
};

// Compute and store `vecs` aligned output vectors, at most K per lane.
template <int K, typename T, typename In, typename Epilogue>
__device__ void store_tile(uint4* to, const SmemTile<T, In>& tile, int vecs,
                           const Epilogue& epilogue) {
  const int lane = threadIdx.x % kWarp;
  if (tile.off == 0) {
    // In float32, stores of whole cache lines are worth an extra iteration.
    constexpr bool kLines = sizeof(T) == sizeof(float);
    const int first_vec = lane - (kLines ? place_in_line(to) : 0);
#pragma unroll
    for (int k = 0; k < K + (kLines ? 1 : 0); ++k) {
      const int i = first_vec + k * kWarp;
      if (i < vecs && (k > 0 || i >= 0))
        store_vec(to + i, apply_epilogue<T>(tile.aligned_vec(i), epilogue));
    }
  } else {
    tile.dispatch([&](auto quarter) {
      uint4* next = to + lane;
#pragma unroll 1
      for (int i = lane; i < vecs; i += kWarp, next += kWarp) {
        store_vec(next, apply_epilogue<T>(tile.template vec<quarter.value>(i), epilogue));
      }
    });
  }
}

// Register limit per thread: the smallest that does not spill on compute capabilities 8.0 and 9.0.
// Left alone, the compiler takes more, and fewer warps are resident.
template <int K>
constexpr int kRegisters = K <= 6 ? 32 : 40;

// One row per cluster of CLUSTER blocks, WARPS warps each; a warp's tile has at most K vectors per
// lane. All three follow from cols alone, and so does the order of every sum. Dynamic shared
// memory: for each warp its tile's vectors and two more. In: the element type of x; one of its
// vectors holds as many elements as kNarrow vectors of T.
template <typename T, typename Epilogue, int K, int WARPS, int CLUSTER, typename In = T>
__global__ void __maxnreg__(kRegisters<K>)
    frontier_staged(T* __restrict__ out, const In* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols) {
  extern __shared__ __align__(16) uint4 all_smem[];
  constexpr int kNarrow = sizeof(T) / sizeof(In), kCopied = (K + kNarrow - 1) / kNarrow;
  constexpr int kTileVecs = kCopied * kWarp + 2, kTiles = WARPS * CLUSTER;
  using Sums = typename Epilogue::template SumsOf<T, false>;
  const RowPart<Sums, WARPS, CLUSTER> part;
  const int lane = threadIdx.x % kWarp;
  // The row is divided evenly: the tiles' lengths differ by at most one vector.
  const int vecs = (static_cast<int>(cols) + kVecElems<T> - 1) / kVecElems<T>;
  const int vecs_per_tile = vecs / kTiles, tiles_with_one_more = vecs % kTiles;
  const int first_vec = part.tile * vecs_per_tile + min(part.tile, tiles_with_one_more);
  const int tile_vecs = vecs_per_tile + (part.tile < tiles_with_one_more ? 1 : 0);
  const int first_elem = first_vec * kVecElems<T>, tile_elems = tile_vecs * kVecElems<T>;
  const int elems_left = static_cast<int>(cols) - first_elem;  // from the tile to the row's end
  T* const out_tile = out + part.row * out_stride + first_elem;
  // The warp writes as many aligned output vectors, which begin `out_shift` elements later.
  const int out_shift = (kVecElems<T> - AlignedRow<T>(out_tile).elements_off()) % kVecElems<T>;

  uint4* const smem = all_smem + part.warp * kTileVecs;
  const int state_elems = min(elems_left, tile_elems);
  const int loaded_elems = min(elems_left, tile_elems + out_shift);
  const int smem_off =
      load_tile<In, kCopied>(smem, x + part.row * x_stride + first_elem, loaded_elems);
  part.listen();
  cp_async_wait();
  __syncwarp();
  const SmemTile<T, In> tile(smem, smem_off);
  SoftmaxState state;
  tile.dispatch([&](auto quarter) {
    state = LaneVecs<T, In, K, quarter.value>{tile, state_elems}.template state<Sums>();
  });
  const typename Epilogue::template Of<T> epilogue(part.merge(state));

  const int out_vecs = (loaded_elems - out_shift) / kVecElems<T>;
  store_tile<K>(reinterpret_cast<uint4*>(out_tile + out_shift),
                SmemTile<T, In>(smem, smem_off + out_shift), out_vecs, epilogue);
  // The two ends of the row are partial vectors of the output, stored element by element.
  const In* const elements = reinterpret_cast<const In*>(smem) + smem_off;
  const bool row_begins = first_elem == 0;
  const int elem = lane + (row_begins ? 0 : out_shift + out_vecs * kVecElems<T>);
  if (elem < (row_begins ? out_shift : loaded_elems)) {
    from_float(out_tile[elem], epilogue.from_x(to_float(elements[elem])));
  }
}
