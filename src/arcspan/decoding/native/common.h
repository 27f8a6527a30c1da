/* What every kernel shares: the types, what is said of a sentence, memory, and how a batch is spread over threads.

Plain C11 with the vector types of GCC and Clang, and no Python. kernels.c is compiled once per instruction set, VARIANT
naming it; dispatch.c says which of them this processor runs. The searches give the same bits in every variant. The
sums over trees use fused multiply-add where VARIANT has it, so that their last digits may differ between variants.

A sentence is computed whole by one thread: no result depends on the number of threads, or on the rest of the batch. */

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
#define JOINED(a, b) a##_##b
#define JOIN(a, b) JOINED(a, b)
#define KERNEL(name) JOIN(name, VARIANT)
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

/* Places in arrays: ints would overflow in the charts of long sentences. */
typedef ptrdiff_t place;

/* What is said of a sentence: decoding/batch.py has the same list. TOO_LARGE is said of NaN as well. */
enum { DONE, FORBIDDEN, TOO_LARGE, NO_MEMORY, UNSAFE };

static inline int smaller_int(int a, int b) { return a < b ? a : b; }
static inline int larger_int(int a, int b) { return a > b ? a : b; }
static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* The rows h of second-order scores stand one after the other: for all (i, j), or packed, for i < j only. This is the
   number of the row of (i, j). */
static inline place row_number(bool packed, place size, place i, place j) {
    return packed ? i * (size - 1) - i * (i + 1) / 2 - 1 + j : i * size + j;
}

/* A sentence's room: one block of memory, handed out piece by piece, each at a multiple of 64 bytes. A room without
   memory measures: a kernel asks for everything it needs first, and returns if `base` is null. */
typedef struct {
    char *base;
    size_t used;
} room;

static inline void *reserve(room *room, place count, size_t size) {
    void *found = room->base ? room->base + room->used : NULL;
    room->used += ((size_t)count * size + 63) & ~(size_t)63;
    return found;
}

/* The fields that every kernel's work begins with. `sentence` computes one and says what happened. */
typedef struct batch {
    int (*sentence)(struct batch *batch, int b, room *room);
    const int64_t *lengths;
    int64_t *status;
    int count, threads;
    const int *order;
    atomic_int next;
} batch;

/* Computes every sentence in up to batch->threads threads; returns how many were not DONE. A batch of one needs no status:
   what there is to say of its sentence is returned. */
int run_batch(batch *batch);

/* A block of memory, kept from call to call where it is small: asking the system takes longer than a short sentence. */
void *borrow(size_t size);
void give_back(void *block);

#endif
