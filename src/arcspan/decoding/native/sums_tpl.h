/* Sums over all trees: log-partition, marginals and samples, by the recurrences of the searches,
with products of scaled values (scaling_tpl.h) instead of logarithms; logarithms_tpl.h takes over
where a sentence's scores are UNSAFE for that.

Every function sum_* computes one sentence. It runs twice: first to measure `memory`, then to
compute. */

/* native/__init__.py declares the same fields in the same order. */
typedef struct {
    batch batch;
    const double *span, *arc; /* [count, size, size], NULL for trees of the other kind alone */
    const void *headed;       /* [count, ., size] or NULL; doubles if `wide`, else floats */
    /* A direction for the product, shaped as the scores; NULL for zeros. */
    const double *span_along, *arc_along, *headed_along;
    double *partition;        /* out [count] */
    double *spans, *heads;    /* out [count, size, size], NULL if marginals are not requested */
    void *parts;              /* out, shaped as headed, or NULL */
    const double *random;     /* [count, samples, 2 * size], from [0, 1) */
    int64_t *tree_heads;      /* out [count, samples, size] */
    int64_t *tree_rows;       /* out [count, samples, 2 * size, 2 or 3] */
    int64_t size, samples, wide, packed;
    int64_t logarithms;       /* use them for every sentence: for tests */
    int64_t product;          /* not the marginals but their change along the direction */
} sums_work;

/* The output of one sample, and the random numbers that it is drawn with. */
typedef struct {
    const double *random;
    int64_t *heads, *rows;
    idx_t size;
} samples;

static samples samples_of(const sums_work *work, int b, int sample, int columns) {
    const idx_t size = work->size;
    const idx_t index = b * work->samples + sample;
    return (samples){
        .random = work->random + index * 2 * size,
        .heads = work->tree_heads ? work->tree_heads + index * size : NULL,
        .rows = work->tree_rows ? work->tree_rows + index * 2 * size * columns : NULL,
        .size = size,
    };
}

static int log_sentence(const sums_work *work, const scores *s, const marginals *out, int b);

/* Whether nothing was lost in a CKY chart whose least value is `least`. */
static bool safe_spans(double least, const scales *scale, bool masked) {
    /* With masks, no product of positive values and factors can have become zero. */
    if (masked) return 2.0 * log(least) - scale->height * LOG2 + scale->depth >= SAFE * LOG2;
    return least >= exp2(SAFE - smaller(scale->height, 0.0));
}

/* The least of row[begin..end-1], and of `least`; with masks, zeros are what the scores demand
   and do not count. */
static inline double least_of(const double *row, int begin, int end, bool masked, double least) {
    for (int j = begin; j < end; j++) {
        const bool counts = !(masked && row[j] == 0.0);
        least = row[j] < least && counts ? row[j] : least;
    }
    return least;
}

/* Sum over the constituency trees of a sentence, by the recurrence of cky_tpl.h. Runs twice: to
   measure, then to compute. */
static int sum_spans(const sums_work *work, const scores *s, const marginals *out, int b,
                     arena *memory) {
    const int n = s->n;
    const idx_t stride = cky_stride(n);
    double *zeros = reserve(memory, (n + 1) * stride, sizeof(double));
    double *x = reserve(memory, (n + 1) * stride, sizeof(double));
    double *g = reserve(memory, (n + 1) * stride, sizeof(double));
    double *factors = reserve(memory, n * (n + 1), sizeof(double));
    double *extra = reserve(memory, 2 * (n + 1) + LANES, sizeof(double));
    int *stack = reserve(memory, 2 * (n + 1), sizeof(int));
    if (!memory->base) return DONE;
    scales scale;
    memset(zeros, 0, (size_t)(n * stride) * sizeof(double));
    memset(x, 0, (size_t)((n + 1) * stride) * sizeof(double));
    const int code = prepare_spans(s, zeros, zeros, 0.0, factors, g, extra, stack, &scale);
    if (code != DONE) return code;
    double total = 0.0;
    for (int attempt = 0;; attempt++) {
        cky_inside(factors, n + 1, n, x);
        double least = HUGE_VALUE;
        for (int w = 1; w <= n; w++)
            least = least_of(x + w * stride, 0, n - w + 1, s->masked, least);
        total = x[n * stride];
        if (safe_spans(least, &scale, s->masked) && total >= 0.0 && total < HUGE_VALUE) break;
        const bool too_low = total > 0.0 && total < exp2(-100.0);
        const bool too_high = total > exp2(TOP) && total < HUGE_VALUE;
        if (attempt == 2 || !(too_low || too_high)) return UNSAFE;
        raise_words(n, -log(total), factors, &scale);
    }
    if (total == 0.0) return FORBIDDEN;
    if (total < exp2(SAFE + 60.0)) return UNSAFE;
    work->partition[b] = log(total) + scale.constant;
    if (out->spans) {
        by_ends(x, stride, n, zeros);
        cky_outside(factors, s->size, n, zeros, g, out->spans);
    }
    for (int sample = 0; sample < work->samples; sample++) {
        const samples to = samples_of(work, b, sample, 2);
        cky_trace(n, x, to.random, extra, stack, to.rows);
    }
    return DONE;
}

/* Every arc multiplies by 2^-1.4, since the number of projective trees grows by almost 2^2.8 per
   word. */
#define ARC_GROWTH 1.4
/* With masks: no product of two values or factors above this can become zero. */
#define MASKED (-500.0)

/* Sum over the dependency trees of a sentence, by the recurrences of eisner_tpl.h. Runs twice: to
   measure, then to compute. */
static int sum_arcs(const sums_work *work, const scores *s, const marginals *out, int b,
                    arena *memory) {
    const int n = s->n;
    const idx_t stride = eisner_stride(n);
    const idx_t size = n + 1;
    const halves x = reserve_halves(memory, n);
    const halves g = reserve_halves(memory, n);
    const halves y = reserve_halves(memory, n);
    double *attach = reserve(memory, size * size, sizeof(double));
    double *root = reserve(memory, 2 * size, sizeof(double));
    int *stack = reserve(memory, 6 * size, sizeof(int));
    if (!memory->base) return DONE;
    double depth;
    const double constant = prepare_arcs(s, size, attach, root, &depth);
    double total = 0.0;
    double least = 1.0;
    if (constant == -INFINITY) return FORBIDDEN;
    if (depth < (s->masked ? MASKED * LOG2 : DEEP)) return UNSAFE;
    const double word = exp2(-ARC_GROWTH);
    double *const charts[] = {
        x.right, x.left, x.arc_right, x.arc_left, g.right, g.left, g.arc_right, g.arc_left,
    };
    for (int part = 0; part < 8; part++)
        memset(charts[part], 0, (size_t)(size * stride) * sizeof(double));
    eisner_inside(attach, size, n, word, x);
    for (int m = 1; m <= n; m++) {
        for (int part = 0; part < 4 && m < n; part++)
            least = least_of(charts[part] + m * stride, 1, n - m + 1, s->masked, least);
        total += x.left[half_at(stride, 1, m)] * x.right[half_at(stride, m, n)] * root[m];
    }
    if (least < exp2(s->masked ? MASKED : SAFE)) return UNSAFE;
    if (s->masked && total == 0.0) return FORBIDDEN;
    if (!(total >= exp2(SAFE + 60.0) && total <= HUGE_VALUE)) return UNSAFE;
    work->partition[b] = log(total) + constant + (n - 1) * ARC_GROWTH * LOG2;
    if (out->heads) {
        by_ends(x.right, stride, n, y.right);
        by_ends(x.left, stride, n, y.left);
        by_ends(x.arc_right, stride, n, y.arc_right);
        by_ends(x.arc_left, stride, n, y.arc_left);
        eisner_outside(attach, size, n, word, y, root, total, g, out->heads, s->size);
    }
    for (int sample = 0; sample < work->samples; sample++) {
        const samples to = samples_of(work, b, sample, 0);
        eisner_trace(n, x, root, 1, to.random, root + size, stack, to.heads);
    }
    return DONE;
}

/* The greatest headed and hooked score of every span, into shift and hooks; returns the greatest
   of the latter. */
static double prepare_headed(const scores *s, double *shift, double *hooks, double *buffer) {
    const int n = s->n;
    double best = n == 1 ? 0.0 : -INFINITY;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j <= n; j++) {
            const double *row = headed_row(s, i, j, buffer);
            const idx_t at = i * cky_stride(n) + j;
            shift[at] = greatest(row, i + 1, j + 1, -INFINITY);
            hooks[at] = greatest(row, j + 1, n + 1, greatest(row, 1, i + 1, -INFINITY));
            best = larger(best, hooks[at]);
        }
    }
    return best;
}

/* Write the exponentials of all headed and hooked scores, scaled; zero for h = 0 and beyond n.
   Return the least scaled score. */
static double second_order(const scores *s, const double *shift, double hook_shift, idx_t stride,
                           double *seconds, double *buffer) {
    const int n = s->n;
    double depth = 0.0;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j <= n; j++, seconds += stride) {
            const double *row = headed_row(s, i, j, buffer);
            const double span_shift = shift[i * cky_stride(n) + j];
            seconds[0] = -INFINITY;
            for (idx_t h = n + 1; h < stride; h++) seconds[h] = -INFINITY;
            subtract(seconds, row, 1, i + 1, hook_shift);
            subtract(seconds, row, i + 1, j + 1, span_shift);
            subtract(seconds, row, j + 1, n + 1, hook_shift);
            depth = lowest(seconds, 0, (int)stride, depth);
            exponentials(seconds, 0, (int)stride);
        }
    }
    return depth;
}

/* Fill the chart from its last row to row `end`; returns its least headed value. */
static double fill_rows(const chart *c, int end, bool masked) {
    double least = HUGE_VALUE;
    for (int i = c->n - 1; i >= end; i--) {
        inside(c, i);
        for (int j = i + 1; j <= c->n; j++) {
            for (int block = (i + 1) / LANES; block <= j / LANES; block++) {
                const int begin = larger_int(i + 1 - LANES * block, 0);
                const int end_lane = smaller_int(j + 1 - LANES * block, LANES);
                least = least_of(cell(c, i, j, LANES * block), begin, end_lane, masked, least);
            }
        }
    }
    return least;
}

/* Whether nothing that matters was lost below the range of doubles, by the least headed value of
   the chart. A hooked value is at least `least` times the least arc and second-order factors;
   depths are in nats. */
static bool safe_joint(double least, const scales *scale, double arc_depth, double second_depth,
                       bool masked) {
    if (!(arc_depth >= DEEP && second_depth >= DEEP && least > 0.0)) return false;
    const double hooked = (log(least) + arc_depth + second_depth) / LOG2;
    /* Every value is so large that 2^-1022 from each product is nothing, before it was scaled
       down as well. */
    if (!masked) return hooked + smaller(scale->height, 0.0) >= SAFE;
    /* No product of positive values and factors can have become zero. */
    return 2.0 * hooked - scale->height + (scale->depth + second_depth) / LOG2 >= SAFE &&
        hooked >= SAFE;
}

/* The words that show whether the guess is off, and the powers of two by which it may be. */
#define PILOT 24
#define FAR 300.0

/* Sum over the lexicalized trees of a sentence, by the recurrences of eisner_satta_tpl.h. Runs
   twice: to measure, then to compute. */
static int sum_joint(const sums_work *work, const scores *s, const marginals *out, int b,
                     arena *memory) {
    const int n = s->n;
    chart c = new_chart(memory, n, false);
    outside_chart o = {0};
    if (out->spans) o = new_outside(memory, &c);
    double *seconds = reserve(memory, s->headed ? c.stride * n * (n + 1) / 2 : 0, sizeof(double));
    double *shift = reserve(memory, (n + 1) * cky_stride(n), sizeof(double));
    double *hooks = reserve(memory, (n + 1) * cky_stride(n), sizeof(double));
    double *guess = reserve(memory, (n + 1) * cky_stride(n), sizeof(double));
    double *factors = reserve(memory, n * (n + 1), sizeof(double));
    double *extra = reserve(memory, 2 * (n + 1), sizeof(double));
    double *buffer = reserve(memory, n + 1, sizeof(double));
    double *root = reserve(memory, c.stride, sizeof(double));
    int *stack = reserve(memory, 3 * (n + 1), sizeof(int));
    if (!memory->base) return DONE;
    const size_t bytes = (size_t)(n * cky_stride(n)) * sizeof(double);
    double arc_depth;
    double second_depth = 0.0;
    double hook_shift = 0.0;
    double total = 0.0;
    memset(root, 0, (size_t)c.stride * sizeof(double));
    memset(shift, 0, bytes);
    memset(hooks, 0, bytes);
    double constant = prepare_arcs(s, c.stride, c.attach, root, &arc_depth);
    if (s->headed && constant > -INFINITY) {
        hook_shift = prepare_headed(s, shift, hooks, buffer);
        constant += n > 1 ? hook_shift * (n - 1) : 0.0;
    }
    if (constant == -INFINITY) return FORBIDDEN;
    if (s->headed) second_depth = second_order(s, shift, hook_shift, c.stride, seconds, buffer);
    scales scale;
    const int code = prepare_spans(s, shift, hooks, hook_shift, factors, guess, extra, stack,
                                   &scale);
    if (code != DONE) return code;
    scale.constant += constant;
    c.span = factors;
    c.size = n + 1;
    c.packed = true;
    if (s->headed) {
        c.headed = seconds;
        c.step = c.stride;
        c.end = seconds + c.stride * n * (n + 1) / 2;
    }
    if (n > 2 * PILOT) {
        /* The last words first, at next to no cost: if the guess is far off there, it is so
           everywhere. */
        double pilot = 0.0;
        fill_rows(&c, n - PILOT, s->masked);
        for (int h = n - PILOT + 1; h <= n; h++)
            pilot = larger(pilot, *cell(&c, n - PILOT, n, h));
        const double rise = (double)n / PILOT * (scale.height * LOG2 - log(pilot));
        if (rise > FAR * LOG2 && rise < INFINITY) raise_words(n, rise, factors, &scale);
    }
    for (int attempt = 0;; attempt++) {
        if (attempt == 3) return UNSAFE;
        const double least = fill_rows(&c, 0, s->masked);
        total = 0.0;
        for (int m = 1; m <= n; m++) total += root[m] * *cell(&c, 0, n, m);
        if (total < HUGE_VALUE && safe_joint(least, &scale, arc_depth, second_depth, s->masked))
            break;
        if (total > exp2(-100.0) && total < exp2(TOP)) return UNSAFE;
        /* Far off the guess: again, with every word's share of the difference. */
        const double far_off = total == 0.0 ? -SAFE * LOG2 : SAFE * LOG2;
        const double rise = total > 0.0 && total < HUGE_VALUE ? -log(total) : far_off;
        raise_words(n, rise, factors, &scale);
    }
    if (s->masked && total == 0.0) return FORBIDDEN;
    if (!(total >= exp2(SAFE + 60.0))) return UNSAFE;
    work->partition[b] = log(total) + scale.constant;
    for (int sample = 0; sample < work->samples; sample++) {
        const samples to = samples_of(work, b, sample, 3);
        trace(&c, root, 1, to.random, extra, stack, to.heads, to.rows);
    }
    if (!out->spans) return DONE;
    for (int m = 1; m <= n; m++) root[m] /= total;
    o.c = c;
    return outside(&o, root, out);
}

/* Compute one sentence. Runs twice: first to measure `memory`, then to compute. */
static int sums_sentence(batch *batch, int b, arena *memory) {
    const sums_work *work = (const sums_work *)batch;
    const idx_t size = work->size;
    const idx_t square = b * size * size;
    const idx_t rows = work->packed ? size * (size - 1) / 2 : size * size;
    const idx_t cells = b * rows * size;
    const size_t width = work->wide ? sizeof(double) : sizeof(float);
    scores s = {
        .n = (int)batch->lengths[b], .size = size, .wide = work->wide, .packed = work->packed,
    };
    marginals out = {.size = size, .wide = work->wide, .packed = work->packed};
    if (work->span) s.span = work->span + square;
    if (work->arc) s.arc = work->arc + square;
    if (work->headed) s.headed = (const char *)work->headed + (size_t)cells * width;
    if (work->span_along) s.span_along = work->span_along + square;
    if (work->arc_along) s.arc_along = work->arc_along + square;
    if (work->headed_along) s.headed_along = work->headed_along + cells;
    if (work->spans) out.spans = work->spans + square;
    if (work->heads) out.heads = work->heads + square;
    if (work->parts) out.parts = (char *)work->parts + (size_t)cells * width;
    double *buffer = reserve(memory, s.n + 1, sizeof(double));
    int code = memory->base ? check_scores(&s, buffer) : DONE;
    if (code != DONE) return code;
    if (work->logarithms || work->product)
        code = memory->base ? UNSAFE : DONE;
    else if (!s.arc)
        code = sum_spans(work, &s, &out, b, memory);
    else if (!s.span)
        code = sum_arcs(work, &s, &out, b, memory);
    else
        code = sum_joint(work, &s, &out, b, memory);
    return code == UNSAFE ? log_sentence(work, &s, &out, b) : code;
}

/* Compute the sums of a batch. The caller fills in everything but `sentence` and `next`. */
EXPORTED int KERNEL(sums)(sums_work *work) {
    work->batch.sentence = sums_sentence;
    return run_batch(&work->batch);
}

/* For native/__init__.py, which declares the same structure. */
EXPORTED size_t KERNEL(sums_work_size)(void) { return sizeof(sums_work); }
