/* Sums over all trees: log-partition, marginals and samples, in the shapes of the searches, with products of scaled
values (scaling.c) instead of logarithms; logarithms.c takes over where a sentence's scores are UNSAFE for that. */

typedef struct {
    batch batch;
    const double *span, *arc;  /* [count, size, size], NULL for trees of the other kind alone */
    const void *headed;        /* [count, ., size], NULL at first order; floats, or doubles if `wide` */
    const double *span_along, *arc_along, *headed_along; /* for the product: a direction, shaped alike; NULL for zeros */
    double *partition;         /* out [count] */
    double *spans, *heads;     /* out [count, size, size], NULL where marginals are not wanted */
    void *parts;               /* out, like headed, or NULL */
    const double *random;      /* [count, samples, 2 * size], from [0, 1) */
    int64_t *tree_heads;       /* out [count, samples, size] */
    int64_t *tree_rows;        /* out [count, samples, 2 * size, 2 or 3] */
    int64_t size, samples, wide, packed;
    int64_t logarithms;        /* use them for every sentence: for tests */
    int64_t product;           /* not the marginals but how they change along the direction */
} sums_work;

/* Where the sentence's samples go, and the numbers they are drawn with. */
typedef struct {
    const double *random;
    int64_t *heads, *rows;
    place size;
} samples;

static samples samples_of(const sums_work *work, int b, int sample, int columns) {
    const place size = work->size, which = b * work->samples + sample;
    return (samples){work->random + which * 2 * size, work->tree_heads ? work->tree_heads + which * size : NULL,
                     work->tree_rows ? work->tree_rows + which * 2 * size * columns : NULL, size};
}

static int log_sentence(const sums_work *work, const scores *s, const marginals *out, int b);

/* Whether nothing was lost in a CKY chart whose least value is `least`. */
static bool safe_spans(double least, const scales *found, bool masked) {
    /* With masks, no product of positive values and factors can have become zero. */
    if (masked) return 2.0 * log(least) - found->height * LOG2 + found->depth >= SAFE * LOG2;
    return least >= exp2(SAFE - smaller(found->height, 0.0));
}

/* The least of row[begin..end-1], and of `least`; with masks, zeros are honest and do not count. */
static inline double least_of(const double *row, int begin, int end, bool masked, double least) {
    for (int j = begin; j < end; j++) least = row[j] < least && !(masked && row[j] == 0.0) ? row[j] : least;
    return least;
}

static int sum_spans(const sums_work *work, const scores *s, const marginals *out, int b, room *room) {
    const int n = s->n;
    const place stride = cky_stride(n);
    double *zeros = reserve(room, (n + 1) * stride, sizeof(double)), *x = reserve(room, (n + 1) * stride, sizeof(double));
    double *g = reserve(room, (n + 1) * stride, sizeof(double)), *own = reserve(room, n * (n + 1), sizeof(double));
    double *extra = reserve(room, 2 * (n + 1) + LANES, sizeof(double));
    int *stack = reserve(room, 2 * (n + 1), sizeof(int));
    if (!room->base) return DONE;
    scales found;
    memset(zeros, 0, (size_t)(n * stride) * sizeof(double));
    memset(x, 0, (size_t)((n + 1) * stride) * sizeof(double));
    const int code = prepare_spans(s, zeros, zeros, 0.0, own, g, extra, stack, &found);
    if (code != DONE) return code;
    double whole = 0.0;
    for (int attempt = 0;; attempt++) {
        cky_inside(own, n + 1, n, x);
        double least = HUGE_VALUE;
        for (int w = 1; w <= n; w++) least = least_of(x + w * stride, 0, n - w + 1, s->masked, least);
        whole = x[n * stride];
        if (safe_spans(least, &found, s->masked) && whole >= 0.0 && whole < HUGE_VALUE) break;
        const bool far = (whole > 0.0 && whole < exp2(-100.0)) || (whole > exp2(TOP) && whole < HUGE_VALUE);
        if (attempt == 2 || !far) return UNSAFE;
        raise_words(n, -log(whole), own, &found);
    }
    if (whole == 0.0) return FORBIDDEN;
    if (whole < exp2(SAFE + 60.0)) return UNSAFE;
    work->partition[b] = log(whole) + found.constant;
    if (out->spans) {
        by_ends(x, stride, n, zeros);
        cky_outside(own, s->size, n, zeros, g, out->spans);
    }
    for (int sample = 0; sample < work->samples; sample++) {
        const samples to = samples_of(work, b, sample, 2);
        cky_trace(n, x, to.random, extra, stack, to.rows);
    }
    return DONE;
}

/* Every arc multiplies by 2^-1.4, since the number of projective trees grows by almost 2^2.8 per word. */
#define ARC_GROWTH 1.4
/* With masks: no product of two values or factors above this can become zero. */
#define MASKED (-500.0)

static int sum_arcs(const sums_work *work, const scores *s, const marginals *out, int b, room *room) {
    const int n = s->n;
    const place stride = eisner_stride(n), size = n + 1;
    const halves x = reserve_halves(room, n), g = reserve_halves(room, n), y = reserve_halves(room, n);
    double *attach = reserve(room, size * size, sizeof(double)), *root = reserve(room, 2 * size, sizeof(double));
    int *stack = reserve(room, 6 * size, sizeof(int));
    if (!room->base) return DONE;
    double depth, constant = prepare_arcs(s, size, attach, root, &depth), whole = 0.0, least = 1.0;
    if (constant == -INFINITY) return FORBIDDEN;
    if (depth < (s->masked ? MASKED * LOG2 : DEEP)) return UNSAFE;
    const double word = exp2(-ARC_GROWTH);
    double *const charts[] = {x.right, x.left, x.arc_right, x.arc_left, g.right, g.left, g.arc_right, g.arc_left};
    for (int part = 0; part < 8; part++) memset(charts[part], 0, (size_t)(size * stride) * sizeof(double));
    eisner_inside(attach, size, n, word, x);
    for (int m = 1; m <= n; m++) {
        for (int part = 0; part < 4 && m < n; part++)
            least = least_of(charts[part] + m * stride, 1, n - m + 1, s->masked, least);
        whole += x.left[half_at(stride, 1, m)] * x.right[half_at(stride, m, n)] * root[m];
    }
    if (least < exp2(s->masked ? MASKED : SAFE)) return UNSAFE;
    if (s->masked && whole == 0.0) return FORBIDDEN;
    if (!(whole >= exp2(SAFE + 60.0) && whole <= HUGE_VALUE)) return UNSAFE;
    work->partition[b] = log(whole) + constant + (n - 1) * ARC_GROWTH * LOG2;
    if (out->heads) {
        by_ends(x.right, stride, n, y.right), by_ends(x.left, stride, n, y.left);
        by_ends(x.arc_right, stride, n, y.arc_right), by_ends(x.arc_left, stride, n, y.arc_left);
        eisner_outside(attach, size, n, word, y, root, whole, g, out->heads, s->size);
    }
    for (int sample = 0; sample < work->samples; sample++) {
        const samples to = samples_of(work, b, sample, 0);
        eisner_trace(n, x, root, 1, to.random, root + size, stack, to.heads);
    }
    return DONE;
}

/* The greatest headed and hooked score of every span, into shift and hooks; returns the greatest of the latter. */
static double prepare_headed(const scores *s, double *shift, double *hooks, double *buffer) {
    const int n = s->n;
    double best = n == 1 ? 0.0 : -INFINITY;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j <= n; j++) {
            const double *row = headed_row(s, i, j, buffer);
            const place at = i * cky_stride(n) + j;
            shift[at] = greatest(row, i + 1, j + 1, -INFINITY);
            hooks[at] = greatest(row, j + 1, n + 1, greatest(row, 1, i + 1, -INFINITY));
            best = larger(best, hooks[at]);
        }
    }
    return best;
}

/* The exponentials of all headed and hooked scores, scaled; zero for h = 0 and beyond n. Returns how deep they reach. */
static double second_order(const scores *s, const double *shift, double hook_shift, place stride, double *seconds,
                           double *buffer) {
    const int n = s->n;
    double depth = 0.0;
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j <= n; j++, seconds += stride) {
            const double *row = headed_row(s, i, j, buffer), mine = shift[i * cky_stride(n) + j];
            seconds[0] = -INFINITY;
            for (place h = n + 1; h < stride; h++) seconds[h] = -INFINITY;
            subtract(seconds, row, 1, i + 1, hook_shift);
            subtract(seconds, row, i + 1, j + 1, mine);
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
        for (int j = i + 1; j <= c->n; j++)
            for (int block = (i + 1) / LANES; block <= j / LANES; block++)
                least = least_of(cell(c, i, j, LANES * block), larger_int(i + 1 - LANES * block, 0),
                                 smaller_int(j + 1 - LANES * block, LANES), masked, least);
    }
    return least;
}

/* Whether nothing that matters was lost below the range of doubles, by the least headed value of the chart. A hooked
   value is at least `least` times the least arc and second-order factors; depths are in nats. */
static bool safe_joint(double least, const scales *found, double arc_depth, double second_depth, bool masked) {
    if (!(arc_depth >= DEEP && second_depth >= DEEP && least > 0.0)) return false;
    const double hooked = (log(least) + arc_depth + second_depth) / LOG2;
    /* Every value is so large that 2^-1022 from each product is nothing, before it was scaled down as well. */
    if (!masked) return hooked + smaller(found->height, 0.0) >= SAFE;
    /* No product of positive values and factors can have become zero. */
    return 2.0 * hooked - found->height + (found->depth + second_depth) / LOG2 >= SAFE && hooked >= SAFE;
}

/* So many words tell whether the guess is off, and by so many powers of two it may be. */
#define PILOT 24
#define FAR 300.0

static int sum_joint(const sums_work *work, const scores *s, const marginals *out, int b, room *room) {
    const int n = s->n;
    chart c = new_chart(room, n, false);
    outside_chart o = {0};
    if (out->spans) o = new_outside(room, &c);
    double *seconds = reserve(room, s->headed ? c.stride * n * (n + 1) / 2 : 0, sizeof(double));
    double *shift = reserve(room, (n + 1) * cky_stride(n), sizeof(double)), *hooks = reserve(room, (n + 1) * cky_stride(n), sizeof(double));
    double *guess = reserve(room, (n + 1) * cky_stride(n), sizeof(double)), *own = reserve(room, n * (n + 1), sizeof(double));
    double *extra = reserve(room, 2 * (n + 1), sizeof(double)), *buffer = reserve(room, n + 1, sizeof(double));
    double *root = reserve(room, c.stride, sizeof(double));
    int *stack = reserve(room, 3 * (n + 1), sizeof(int));
    if (!room->base) return DONE;
    const size_t bytes = (size_t)(n * cky_stride(n)) * sizeof(double);
    double arc_depth, second_depth = 0.0, hook_shift = 0.0, whole = 0.0;
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
    scales found;
    const int code = prepare_spans(s, shift, hooks, hook_shift, own, guess, extra, stack, &found);
    if (code != DONE) return code;
    found.constant += constant;
    c.span = own;
    c.size = n + 1;
    c.packed = true;
    if (s->headed) c.headed = seconds, c.step = c.stride, c.end = seconds + c.stride * n * (n + 1) / 2;
    if (n > 2 * PILOT) {
        /* The last words first, at next to no cost: if the guess is far off there, it is so everywhere. */
        double pilot = 0.0;
        fill_rows(&c, n - PILOT, s->masked);
        for (int h = n - PILOT + 1; h <= n; h++) pilot = larger(pilot, *cell(&c, n - PILOT, n, h));
        const double rise = (double)n / PILOT * (found.height * LOG2 - log(pilot));
        if (rise > FAR * LOG2 && rise < INFINITY) raise_words(n, rise, own, &found);
    }
    for (int attempt = 0;; attempt++) {
        if (attempt == 3) return UNSAFE;
        const double least = fill_rows(&c, 0, s->masked);
        whole = 0.0;
        for (int m = 1; m <= n; m++) whole += root[m] * *cell(&c, 0, n, m);
        if (whole < HUGE_VALUE && safe_joint(least, &found, arc_depth, second_depth, s->masked)) break;
        if (whole > exp2(-100.0) && whole < exp2(TOP)) return UNSAFE;
        /* Far off the guess: again, with every word's share of the difference. */
        const double far = whole == 0.0 ? -SAFE * LOG2 : SAFE * LOG2;
        raise_words(n, whole > 0.0 && whole < HUGE_VALUE ? -log(whole) : far, own, &found);
    }
    if (s->masked && whole == 0.0) return FORBIDDEN;
    if (!(whole >= exp2(SAFE + 60.0))) return UNSAFE;
    work->partition[b] = log(whole) + found.constant;
    for (int sample = 0; sample < work->samples; sample++) {
        const samples to = samples_of(work, b, sample, 3);
        trace(&c, root, 1, to.random, extra, stack, to.heads, to.rows);
    }
    if (!out->spans) return DONE;
    for (int m = 1; m <= n; m++) root[m] /= whole;
    o.c = c;
    return outside(&o, root, out);
}

static int sums_sentence(batch *batch, int b, room *room) {
    const sums_work *work = (const sums_work *)batch;
    const place size = work->size, square = b * size * size;
    const place rows = work->packed ? size * (size - 1) / 2 : size * size, cells = b * rows * size;
    const size_t width = work->wide ? sizeof(double) : sizeof(float);
    scores s = {.n = (int)batch->lengths[b], .size = size, .wide = work->wide, .packed = work->packed};
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
    double *buffer = reserve(room, s.n + 1, sizeof(double));
    int code = room->base ? look(&s, buffer) : DONE;
    if (code != DONE) return code;
    if (work->logarithms || work->product)
        code = room->base ? UNSAFE : DONE;
    else if (!s.arc)
        code = sum_spans(work, &s, &out, b, room);
    else if (!s.span)
        code = sum_arcs(work, &s, &out, b, room);
    else
        code = sum_joint(work, &s, &out, b, room);
    return code == UNSAFE ? log_sentence(work, &s, &out, b) : code;
}

/* The caller fills in everything but `sentence` and `next`. */
EXPORTED int KERNEL(sums)(sums_work *work) {
    work->batch.sentence = sums_sentence;
    return run_batch(&work->batch);
}
