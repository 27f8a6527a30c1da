/* The numbers that a chart holds. Every search is a template, compiled once for each value of ALGEBRA:

    BEST_FLOAT    a value is the score of a best tree:            combine = the greater,   extend = add
    BEST_DOUBLE   the same in double, for scores beyond float and for the k best
    SUMS          a value is a sum over trees of exp(score):      combine = add,           extend = multiply

`lanes` are LANES numbers side by side. A compiler vectorises the innermost loop, which here is the wrong one: the charts
want neighbouring heads, or neighbouring ends, side by side and the loop over splits innermost, with the running
value in a register. So vectors are explicit: the compilers' own vector types, as many of them as make up LANES. */

#define BEST_FLOAT 1
#define BEST_DOUBLE 2
#define SUMS 3

#if ALGEBRA == BEST_FLOAT
#define number float
#define integer int32_t
#define LANES (VECTOR_BYTES == 64 ? 16 : 8)
#define SEARCH KERNEL(search_float)
#else
#define number double
#define integer int64_t
#define LANES 8
#define SEARCH KERNEL(search_double)
#endif

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
#define GREATER(a, b) chosen(a > b, a, b)
#endif

/* a where the mask is set, b elsewhere. */
#define chosen(mask, a, b) ((vector)(((integers)(a) & (mask)) | ((integers)(b) & ~(mask))))

/* The values of no tree, and of a tree without scores. */
#if ALGEBRA == SUMS
#define NOTHING 0.0
#define UNIT 1.0
#else
#define NOTHING ((number)-INFINITY)
#define UNIT ((number)0)
#endif

#define PER_VECTOR ((int)(VECTOR_BYTES / sizeof(number)))
#define PARTS (LANES / PER_VECTOR)

typedef number vector __attribute__((vector_size(VECTOR_BYTES)));
typedef integer integers __attribute__((vector_size(VECTOR_BYTES)));
typedef struct {
    vector part[PARTS];
} lanes;
typedef struct {
    integers part[PARTS];
} marks;

INLINED lanes load(const number *from) {
    lanes found;
    memcpy(&found, from, sizeof found);
    return found;
}

INLINED void store(number *to, lanes value) { memcpy(to, &value, sizeof value); }

/* The same number in all lanes. */
INLINED lanes splat(number value) {
    lanes all;
    for (int p = 0; p < PARTS; p++) all.part[p] = value - (vector){0};
    return all;
}

/* The value of two parts together; of one number each. */
INLINED lanes extend(lanes a, lanes b) {
#if ALGEBRA == SUMS
    for (int p = 0; p < PARTS; p++) a.part[p] *= b.part[p];
#else
    for (int p = 0; p < PARTS; p++) a.part[p] += b.part[p];
#endif
    return a;
}

INLINED number joined(number a, number b) {
#if ALGEBRA == SUMS
    return a * b;
#else
    return a + b;
#endif
}

/* One tree or another, the greater or the sum: of a value and the parts a and b together, and of two values. */
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

/* `inside` in the lanes whose number (first, first + 1, ...) is in [low, high), `outside` elsewhere. */
INLINED lanes between(int first, int low, int high, lanes inside, lanes outside) {
    static const integer numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int p = 0; p < PARTS; p++) {
        integers at;
        memcpy(&at, numbers + p * PER_VECTOR, sizeof at);
        integers mask = (at >= (integer)(low - first)) & (at < (integer)(high - first));
        inside.part[p] = chosen(mask, inside.part[p], outside.part[p]);
    }
    return inside;
}

#if ALGEBRA == SUMS
/* The sum of the lanes, in pairs, and pairs of pairs. */
INLINED double total(lanes value) {
    double all[LANES];
    memcpy(all, &value, sizeof all);
    return ((all[0] + all[1]) + (all[2] + all[3])) + ((all[4] + all[5]) + (all[6] + all[7]));
}

/* The greater, lane by lane. */
INLINED lanes maximum(lanes a, lanes b) {
    for (int p = 0; p < PARTS; p++) a.part[p] = GREATER(a.part[p], b.part[p]);
    return a;
}

/* The values where `sign` is above zero, zero elsewhere. */
INLINED lanes where_positive(lanes sign, lanes value) {
    for (int p = 0; p < PARTS; p++) value.part[p] = chosen(sign.part[p] > 0.0, value.part[p], (vector){0});
    return value;
}

/* The sum of a[k] b[k], k < count, and into[k] += a[k] factor: rows may be read, but not written, beyond their ends. */
static inline double dot(const double *a, const double *b, int count) {
    lanes sum = splat(0.0);
    int k = 0;
    for (; k + LANES <= count; k += LANES) sum = combine(sum, load(a + k), load(b + k));
    if (k < count) sum = combine(sum, between(k, 0, count, load(a + k), splat(0.0)),
                                 between(k, 0, count, load(b + k), splat(0.0)));
    return total(sum);
}

static inline void add_scaled(double *into, const double *a, double factor, int count) {
    int k = 0;
    for (; k + LANES <= count; k += LANES) store(into + k, combine(load(into + k), load(a + k), splat(factor)));
    for (; k < count; k++) into[k] += a[k] * factor;
}

/* Draws one of `count` by their weights, with a number from [0, 1) of the list; -1 where all are nothing. */
static int choose(number *weights, int count, const double **random) {
    double sum = 0.0;
    for (int k = 0; k < count; k++) sum += weights[k];
    double rest = *(*random)++ * sum;
    int last = -1;
    for (int k = 0; k < count; k++) {
        if (weights[k] > 0.0) {
            last = k;
            rest -= weights[k];
            if (rest < 0.0) break;
        }
    }
    return last;
}
#else
/* The first of the greatest; -1 where there is nothing. */
static int choose(number *values, int count, const double **random) {
    number best = NOTHING;
    int found = -1;
    (void)random;
    for (int k = 0; k < count; k++) {
        const bool above = values[k] > best; /* no branch: it would be guessed wrong too often */
        best = above ? values[k] : best;
        found = above ? k : found;
    }
    return found;
}
#endif

/* Marks the lanes where value is NaN or not below limit. */
INLINED marks mark_unless_below(marks marked, lanes value, lanes limit) {
    for (int p = 0; p < PARTS; p++) marked.part[p] |= ~(integers)(value.part[p] < limit.part[p]);
    return marked;
}

/* Whether a lane whose number is in [low, high) is marked. */
INLINED bool any_between(marks marked, int first, int low, int high) {
    integer all[LANES], found = 0;
    memcpy(all, &marked, sizeof all);
    for (int lane = 0; lane < LANES; lane++) found |= first + lane >= low && first + lane < high ? all[lane] : 0;
    return found != 0;
}
