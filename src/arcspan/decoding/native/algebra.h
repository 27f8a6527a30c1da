/* The numbers that a chart holds. Every search is a template, compiled once for each value of
   ALGEBRA:

    BEST_FLOAT    a value is the score of a best tree:        combine = the greater,  extend = add
    BEST_DOUBLE   the same in double, for scores beyond float and for the k best
    SUMS          a value is a sum over trees of exp(score):  combine = add,  extend = multiply

`lanes` are LANES numbers side by side. A compiler vectorises the innermost loop, which here is
the wrong one: the charts want neighbouring heads, or neighbouring ends, side by side and the
loop over splits innermost, with the running value in a register. So vectors are explicit: the
compilers' own vector types, as many of them as make up LANES. */

#ifndef ARCSPAN_ALGEBRA_H
#define ARCSPAN_ALGEBRA_H

#include "common.h"

#define BEST_FLOAT 1
#define BEST_DOUBLE 2
#define SUMS 3

/* The build always sets it; editors and syntax checks of a single file do not. */
#ifndef ALGEBRA
#define ALGEBRA BEST_FLOAT
#endif

/* num_t: a number of a chart; mask_t: an integer of its size, for masks with all bits set or
   none. */
#if ALGEBRA == BEST_FLOAT
typedef float num_t;
typedef int32_t mask_t;
#define LANES (VECTOR_BYTES == 64 ? 16 : 8)
#define SEARCH KERNEL(search_float)
#else
typedef double num_t;
typedef int64_t mask_t;
#define LANES 8
#define SEARCH KERNEL(search_double)
#endif

/* The values of no tree, and of a tree without scores. */
#if ALGEBRA == SUMS
#define NO_TREE 0.0
#define UNIT 1.0
#else
#define NO_TREE ((num_t)-INFINITY)
#define UNIT ((num_t)0)
#endif

#define PER_VECTOR ((int)(VECTOR_BYTES / sizeof(num_t)))
#define PARTS (LANES / PER_VECTOR)

typedef num_t vec_t __attribute__((vector_size(VECTOR_BYTES)));
typedef mask_t mask_vec_t __attribute__((vector_size(VECTOR_BYTES)));
typedef struct {
    vec_t part[PARTS];
} lanes;
typedef struct {
    mask_vec_t part[PARTS];
} marks;

/* a where the mask is set, b elsewhere. */
INLINED vec_t select_vector(mask_vec_t mask, vec_t a, vec_t b) {
    return (vec_t)(((mask_vec_t)a & mask) | ((mask_vec_t)b & ~mask));
}

/* The greater number, position by position. With an instruction of its own where there is one. */
#if ALGEBRA == BEST_FLOAT && defined(__AVX512F__)
#define GREATER(a, b) _mm512_max_ps(a, b)
#elif ALGEBRA == BEST_FLOAT && defined(__AVX2__)
#define GREATER(a, b) _mm256_max_ps(a, b)
#elif ALGEBRA == BEST_FLOAT && defined(__SSE2__)
#define GREATER(a, b) _mm_max_ps(a, b)
#elif defined(__AVX512F__)
#define GREATER(a, b) _mm512_max_pd(a, b)
#elif defined(__AVX2__)
#define GREATER(a, b) _mm256_max_pd(a, b)
#elif defined(__SSE2__)
#define GREATER(a, b) _mm_max_pd(a, b)
#else
#define GREATER(a, b) select_vector(a > b, a, b)
#endif

/* memcpy, since the address need not be aligned to a vector. */
INLINED lanes load(const num_t *from) {
    lanes value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINED void store(num_t *to, lanes value) { memcpy(to, &value, sizeof value); }

/* The same number in all lanes. */
INLINED lanes splat(num_t number) {
    lanes value;
    /* Minus zero keeps the sign of a zero, which plus zero would not. */
    for (int p = 0; p < PARTS; p++) value.part[p] = number - (vec_t){0};
    return value;
}

/* The value of two parts together: of lanes, and of one number each. */
INLINED lanes extend(lanes a, lanes b) {
#if ALGEBRA == SUMS
    for (int p = 0; p < PARTS; p++) a.part[p] *= b.part[p];
#else
    for (int p = 0; p < PARTS; p++) a.part[p] += b.part[p];
#endif
    return a;
}

INLINED num_t extend_one(num_t a, num_t b) {
#if ALGEBRA == SUMS
    return a * b;
#else
    return a + b;
#endif
}

/* One tree or another, the greater or the sum: of a value and the parts a and b together
   (combine), and of two values (merge). */
INLINED lanes combine(lanes value, lanes a, lanes b) {
    for (int p = 0; p < PARTS; p++) {
#if ALGEBRA == SUMS
        value.part[p] += a.part[p] * b.part[p];
#else
        value.part[p] = GREATER(value.part[p], a.part[p] + b.part[p]);
#endif
    }
    return value;
}

INLINED lanes merge(lanes a, lanes b) {
    for (int p = 0; p < PARTS; p++) {
#if ALGEBRA == SUMS
        a.part[p] += b.part[p];
#else
        a.part[p] = GREATER(a.part[p], b.part[p]);
#endif
    }
    return a;
}

/* `inside` in the lanes whose number (first, first + 1, ...) is in [low, high), `outside`
   elsewhere. */
INLINED lanes between(int first, int low, int high, lanes inside, lanes outside) {
    static const mask_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int p = 0; p < PARTS; p++) {
        mask_vec_t lane;
        memcpy(&lane, numbers + p * PER_VECTOR, sizeof lane);
        mask_vec_t mask = (lane >= (mask_t)(low - first)) & (lane < (mask_t)(high - first));
        inside.part[p] = select_vector(mask, inside.part[p], outside.part[p]);
    }
    return inside;
}

#if ALGEBRA == SUMS
/* The sum of the lanes, in pairs, and pairs of pairs. */
INLINED double sum_lanes(lanes value) {
    double v[LANES];
    memcpy(v, &value, sizeof v);
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

/* The greater, lane by lane. */
INLINED lanes maximum(lanes a, lanes b) {
    for (int p = 0; p < PARTS; p++) a.part[p] = GREATER(a.part[p], b.part[p]);
    return a;
}

/* The values where `sign` is above zero, zero elsewhere. */
INLINED lanes where_positive(lanes sign, lanes value) {
    const vec_t zero = {0};
    for (int p = 0; p < PARTS; p++)
        value.part[p] = select_vector(sign.part[p] > 0.0, value.part[p], zero);
    return value;
}

/* The sum of a[k] b[k], k < count. Rows may be read, but not written, beyond their ends. */
static inline double dot(const double *a, const double *b, int count) {
    lanes sum = splat(0.0);
    int k = 0;
    for (; k + LANES <= count; k += LANES) sum = combine(sum, load(a + k), load(b + k));
    if (k < count) {
        const lanes last_a = between(k, 0, count, load(a + k), splat(0.0));
        const lanes last_b = between(k, 0, count, load(b + k), splat(0.0));
        sum = combine(sum, last_a, last_b);
    }
    return sum_lanes(sum);
}

/* into[k] += a[k] factor, k < count. */
static inline void add_scaled(double *into, const double *a, double factor, int count) {
    int k = 0;
    for (; k + LANES <= count; k += LANES)
        store(into + k, combine(load(into + k), load(a + k), splat(factor)));
    for (; k < count; k++) into[k] += a[k] * factor;
}

/* Draw an index by the weights, with the next number, from [0, 1), of the list; -1 if all
   weights are 0. */
static int choose(num_t *weights, int count, const double **random) {
    double sum = 0.0;
    for (int k = 0; k < count; k++) sum += weights[k];
    double remaining = *(*random)++ * sum;
    int last = -1;
    for (int k = 0; k < count; k++) {
        if (weights[k] > 0.0) {
            last = k;
            remaining -= weights[k];
            if (remaining < 0.0) break;
        }
    }
    return last;
}
#else
/* The index of the first of the greatest values; -1 if all are NO_TREE. */
static int choose(num_t *values, int count, const double **random) {
    num_t best = NO_TREE;
    int index = -1;
    (void)random;
    for (int k = 0; k < count; k++) {
        const bool above = values[k] > best; /* no branch: it would be guessed wrong too often */
        best = above ? values[k] : best;
        index = above ? k : index;
    }
    return index;
}
#endif

/* Mark the lanes where value is NaN or not below limit. */
INLINED marks mark_unless_below(marks marked, lanes value, lanes limit) {
    for (int p = 0; p < PARTS; p++) marked.part[p] |= ~(mask_vec_t)(value.part[p] < limit.part[p]);
    return marked;
}

/* Whether a lane whose number is in [low, high) is marked. */
INLINED bool any_between(marks marked, int first, int low, int high) {
    mask_t mask[LANES], any = 0;
    memcpy(mask, &marked, sizeof mask);
    for (int lane = 0; lane < LANES; lane++) {
        const bool counts = first + lane >= low && first + lane < high;
        any |= counts ? mask[lane] : 0;
    }
    return any != 0;
}

#endif
