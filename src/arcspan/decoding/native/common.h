/* Shared by all kernels: types, status codes, memory, and how a batch is spread over threads.

Plain C11 with the vector types of GCC and Clang, and no Python. kernels.c is compiled once per
instruction set, VARIANT naming it; dispatch.c returns which of them this processor runs. The
searches give the same bits in every variant. The sums over trees use fused multiply-add where
VARIANT has it, so that their last digits may differ between variants.

One thread computes a whole sentence: no result depends on the number of threads, or on the other
sentences of the batch.

   Files named *_tpl.h are templates: kernels.c includes them, once for each value of ALGEBRA
   (algebra.h). */

#ifndef ARCSPAN_COMMON_H
#define ARCSPAN_COMMON_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef VARIANT
#define VARIANT baseline
#endif
/* Two steps, since ## does not expand its operands: KERNEL(name) is name_baseline, for example. */
#define PASTE(a, b) a##_##b
#define PASTE_EXPANDED(a, b) PASTE(a, b)
#define KERNEL(name) PASTE_EXPANDED(name, VARIANT)
#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* Into every caller, where constant arguments make the branches on them vanish. */
#define INLINED static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

/* Indices into arrays: ints would overflow in the charts of long sentences. */
typedef ptrdiff_t idx_t;

/* The status of a sentence. native/__init__.py has the same list and compares it with
   status_names() when it loads the library.

    DONE           its result is written
    FORBIDDEN      its scores forbid every tree
    TOO_LARGE      a score is NaN, infinite, or too large to add up
    NO_MEMORY      no memory for its chart
    UNSAFE         within sums only: digits may be lost, compute it with logarithms
    EXHAUSTED      k best only: there is no further tree
    NOT_A_NUMBER   never returned by a kernel: Python looks if the score of TOO_LARGE is NaN */
#define STATUS_CODES(CODE)                                                                        \
    CODE(DONE) CODE(FORBIDDEN) CODE(TOO_LARGE) CODE(NO_MEMORY) CODE(UNSAFE) CODE(EXHAUSTED)       \
    CODE(NOT_A_NUMBER)
#define AS_ENUMERATOR(name) name,
enum { STATUS_CODES(AS_ENUMERATOR) };

static inline int smaller_int(int a, int b) { return a < b ? a : b; }
static inline int larger_int(int a, int b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* The index of the row of (i, j) in second-order scores: rows of heads for all (i, j), or
   packed, for i < j only. */
static inline idx_t row_number(bool packed, idx_t size, idx_t i, idx_t j) {
    if (packed) return i * (size - 1) - i * (i + 1) / 2 - 1 + j;
    return i * size + j;
}

/* A sentence's memory: one block, handed out piece by piece, each at a multiple of 64 bytes (the
   widest vector, and a cache line). An arena without a block measures: every function for a
   sentence runs twice. It reserves all that it needs first; in the first run it returns then,
   since `base` is null, in the second run `base` is a block of the size that was counted in
   `used`, and it computes. */
typedef struct {
    char *base;
    size_t used;
} arena;

static inline void *reserve(arena *memory, idx_t count, size_t size) {
    void *block = memory->base ? memory->base + memory->used : NULL;
    memory->used += ((size_t)count * size + 63) & ~(size_t)63;
    return block;
}

/* The first fields of every kernel's work. `sentence` computes sentence b and returns its status.
   count       sentences
   order       the sentences in the order in which they are computed; NULL for 0, 1, ...
   next        index into `order` of the next sentence that no thread has begun */
typedef struct batch {
    int (*sentence)(struct batch *batch, int b, arena *memory);
    const int64_t *lengths;
    int64_t *status;
    int count, threads;
    const int *order;
    atomic_int next;
} batch;

/* Compute every sentence in up to batch->threads threads; return how many were not DONE. A batch
   of one needs no array `status`: the status of its sentence is returned. */
int run_batch(batch *batch);

/* A block of memory, cached from call to call if it is small: the system's allocation takes
   longer than the search of a short sentence. */
void *acquire_block(size_t size);
void release_block(void *block);

#endif
