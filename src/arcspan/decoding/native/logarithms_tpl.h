/* Sums over all trees with logarithms: without limits of range, and with second derivatives. For
scores that the fast kernels (sums_tpl.h) cannot hold, which is rare, and for the gradients of
marginals: plain loops.

The value of an item of a chart is its score plus the logarithm of a sum over the ways to build it
from two others. Upwards, each item gets its value x; downwards, it hands its marginal on to the
parts of each way, by the way's share:

    x = score + log sum exp(a + b)              share = exp(a + b) / sum exp(a + b)

Shares add up to one however large the scores are. A tree is drawn in the same way: each item of the
tree hands 1 on to the parts of one way, drawn by the shares. With a direction in the space of
scores, every number has a slope along it. The slopes of the marginals are the second derivatives of
the log-partition times the direction:

    slope of share = share * (slope of a + slope of b - their mean over all ways, by the shares)

One loop visits the items both ways. A forbidden item holds ZERO, finite so that differences stay
numbers. */

typedef struct {
    const scores *s;
    bool down;
    double *x, *marginal;    /* [item] */
    double *slope, *change;  /* [item]: the slopes of both; NULL without a direction */
    idx_t width, arcs;       /* items of a span; the first item of an arc */
    idx_t *a, *b;            /* the ways to build one item */
    int count;
    double *weights, *second;
    const double *random;    /* to draw a tree; NULL for marginals */
} tape;

/* Items: (i, j), with the head h or hooked to h where there are heads; Eisner's half trees over
   the words from h to e; m attached to h. The arc to the root, h = 0, is the last item of the
   trees that m heads; arc_item(0, 0) is the sum. */
static inline idx_t span_item(const tape *t, idx_t i, idx_t j, idx_t h) {
    return row_number(true, t->s->n + 1, i, j) * t->width + h;
}
static inline idx_t half_item(const tape *t, idx_t h, idx_t e) { return h * (t->s->n + 1) + e; }
static inline idx_t arc_item(const tape *t, idx_t m,
                             idx_t h) { return t->arcs + m * (t->s->n + 1) + h; }

/* A score, or ZERO for those below it. */
static double finite(double score) { return score > ZERO ? score : ZERO; }

static void add_way(tape *t, idx_t a, idx_t b) {
    t->a[t->count] = a;
    t->b[t->count] = b;
    t->count++;
}

/* Whether there is nothing to hand on. */
static bool idle(const tape *t, idx_t item) {
    return t->down && t->marginal[item] == 0.0 && !(t->change && t->change[item] != 0.0);
}

/* Give an item its value by the ways that were added, or hand its marginal on to their parts.
   `at` is the index of its slope in `along`. */
static void visit(tape *t, idx_t item, double score, const double *along, idx_t at) {
    const idx_t *a = t->a;
    const idx_t *b = t->b;
    const int count = t->count;
    double *weights = t->weights;
    double best = 2.0 * ZERO;
    double sum = 0.0;
    double mean = 0.0;
    t->count = 0;
    for (int k = 0; k < count; k++) {
        weights[k] = t->x[a[k]] + t->x[b[k]];
        best = larger(best, weights[k]);
    }
    /* Relative to the best way, so that nothing overflows. */
    for (int k = 0; k < count; k++) weights[k] = exp_negative(weights[k] - best);
    for (int k = 0; k < count; k++) sum += weights[k];
    for (int k = 0; k < count && t->slope; k++)
        mean += weights[k] * (t->slope[a[k]] + t->slope[b[k]]) / sum;
    if (!t->down) {
        const double x = !count ? score : best > GONE ? best + log(sum) + score : ZERO;
        t->x[item] = x > GONE ? x : ZERO;
        if (t->slope) t->slope[item] = x > GONE ? mean + (along ? along[at] : 0.0) : 0.0;
        return;
    }
    if (t->random) {
        const int k = count > 1 ? choose(weights, count, &t->random) : 0;
        if (count) {
            t->marginal[a[k]] = 1.0;
            t->marginal[b[k]] = 1.0;
        }
        return;
    }
    for (int k = 0; k < count; k++) {
        const double share = weights[k] / sum;
        const double mass = share * t->marginal[item];
        t->marginal[a[k]] += mass;
        t->marginal[b[k]] += mass;
        if (!t->slope) continue;
        const double slope = t->slope[a[k]] + t->slope[b[k]] - mean;
        const double change = share * t->change[item] + mass * slope;
        t->change[a[k]] += change;
        t->change[b[k]] += change;
    }
}

/* x[i, j] = s(i, j) + log sum over k of exp(x[i, k] + x[k, j]) */
static void visit_cky(tape *t, int i, int j) {
    const scores *s = t->s;
    if (idle(t, span_item(t, i, j, 0))) return;
    for (int k = i + 1; k < j; k++) add_way(t, span_item(t, i, k, 0), span_item(t, k, j, 0));
    visit(t, span_item(t, i, j, 0), finite(s->span[i * s->size + j]), s->span_along,
          i * s->size + j);
}

/* The words l to r: the arc between them either way, then the half trees that end there, by the
   recurrence of eisner_tpl.h. Half tree (0, 0) is empty. Parts 0 and 1 are the arcs from l and
   from r, 2 and 3 the half trees of l and of r. */
static void visit_eisner(tape *t, int l, int r) {
    const scores *s = t->s;
    for (int turn = 0; turn < 4; turn++) {
        const int part = t->down ? 3 - turn : turn;
        const int h = part % 2 ? r : l;
        const int e = part % 2 ? l : r;
        const idx_t item = part < 2 ? arc_item(t, e, h) : half_item(t, h, e);
        if (idle(t, item)) continue;
        for (int k = l; k < r; k++) {
            const int m = part == 2 ? k + 1 : k;
            if (part < 2)
                add_way(t, half_item(t, l, k), half_item(t, r, k + 1));
            else
                add_way(t, arc_item(t, m, h), half_item(t, m, e));
        }
        if (part < 2)
            visit(t, item, finite(s->arc[e * s->size + h]), s->arc_along, e * s->size + h);
        else
            visit(t, item, 0.0, NULL, 0);
    }
}

/* (i, j) headed by each h inside, or hooked to each h outside, by the recurrences of
   eisner_satta_tpl.h. */
static void visit_heads(tape *t, int i, int j, bool hooked) {
    const scores *s = t->s;
    const double *second = s->headed ? headed_row(s, i, j, t->second) : NULL;
    const idx_t row = row_number(s->packed, s->size, i, j) * s->size;
    const double span_slope = s->span_along ? s->span_along[i * s->size + j] : 0.0;
    for (int h = 1; h <= s->n; h++) {
        const idx_t item = span_item(t, i, j, h);
        if ((i < h && h <= j) == hooked || idle(t, item)) continue;
        for (int m = i + 1; m <= j && hooked; m++)
            add_way(t, span_item(t, i, j, m), arc_item(t, m, h));
        for (int k = i + 1; k < j && !hooked; k++)
            add_way(t, span_item(t, i, k, h), span_item(t, k, j, h));
        /* A hooked span got the scores of (i, j) as a headed one. */
        const double span_score = hooked ? 0.0 : finite(s->span[i * s->size + j]);
        const double score = span_score + (second ? finite(second[h]) : 0.0);
        const double headed_slope = s->headed_along ? s->headed_along[row + h] : 0.0;
        const double slope = (hooked ? 0.0 : span_slope) + headed_slope;
        visit(t, item, score, &slope, 0);
    }
}

/* Visit all items in order of width, the greatest first on the way down. Return the item of the
   whole sentence. */
static idx_t visit_all(tape *t, bool down) {
    const scores *s = t->s;
    const int n = s->n;
    const idx_t total = s->arc ? arc_item(t, 0, 0) : span_item(t, 0, n, 0);
    t->down = down;
    if (down) t->marginal[total] = 1.0;
    for (int step = 1; step <= n + 1; step++) {
        const int w = down ? n + 2 - step : step;
        if (w > n && s->arc) {
            /* Without spans an arc to the root contains two half trees; otherwise it is a score
               alone. */
            for (int m = 1; m <= n; m++)
                add_way(t, arc_item(t, m, 0), s->span ? span_item(t, 0, n, m) : half_item(t, 0, 0));
            visit(t, total, 0.0, NULL, 0);
        }
        for (int m = 1; m <= n && w == n && !s->span; m++) {
            if (idle(t, arc_item(t, m, 0))) continue;
            add_way(t, half_item(t, m, 1), half_item(t, m, n));
            visit(t, arc_item(t, m, 0), finite(s->arc[m * s->size]), s->arc_along, m * s->size);
        }
        for (int i = 0, j = w; j <= n; i++, j++) {
            if (!s->arc) {
                visit_cky(t, i, j);
            } else if (!s->span) {
                if (j < n) visit_eisner(t, i + 1, j + 1);
            } else {
                visit_heads(t, i, j, down);
                visit_heads(t, i, j, !down);
            }
        }
    }
    return total;
}

/* The first and the last head of span (i, j): 0, which means none, where there are only spans. */
static inline int first_head(const tape *t, int i) { return t->s->arc ? i + 1 : 0; }
static inline int last_head(const tape *t, int j) { return t->s->arc ? j : 0; }

/* Write the marginals, or their change along the direction. */
static void write_marginals(const tape *t, const marginals *out) {
    const double *values = t->change ? t->change : t->marginal;
    const int n = t->s->n;
    for (int i = 0; i <= n; i++) {
        for (int j = i + 1; j <= n && out->spans; j++) {
            double sum = 0.0;
            for (int h = first_head(t, i); h <= last_head(t, j); h++)
                sum += values[span_item(t, i, j, h)];
            out->spans[i * out->size + j] = sum;
            if (out->parts) set_parts(out, i, j, n, values + span_item(t, i, j, 0));
        }
        for (int h = 0; h <= n && i > 0 && out->heads; h++)
            if (h != i) out->heads[i * out->size + h] = values[arc_item(t, i, h)];
    }
}

static void write_tree(const tape *t, samples to) {
    const int n = t->s->n;
    for (int i = 0; i <= n; i++) {
        for (int j = n; j > i && to.rows; j--) {
            for (int h = first_head(t, i); h <= last_head(t, j); h++) {
                if (t->marginal[span_item(t, i, j, h)] == 0.0) continue;
                *to.rows++ = i;
                *to.rows++ = j;
                if (t->s->arc) *to.rows++ = h;
            }
        }
        for (int h = 0; h <= n && i > 0 && to.heads; h++)
            if (h != i && t->marginal[arc_item(t, i, h)] != 0.0) to.heads[i] = h;
    }
}

/* Compute a sentence of sums_tpl.h with logarithms. It is called once, measures by itself, and
   borrows its own block: the caller's arena has the size for the fast kernels. */
static int log_sentence(const sums_work *work, const scores *s, const marginals *out, int b) {
    const int n = s->n;
    const idx_t size = n + 1;
    const idx_t pairs = size * n / 2;
    tape t = {.s = s, .width = s->arc ? size : 1};
    t.arcs = !s->span ? size * size : pairs * t.width;
    const idx_t items = t.arcs + (s->arc ? size * size : 0);
    arena memory = {NULL, 0};
    for (int turn = 0; turn < 2; turn++) {
        memory.used = 0;
        t.x = reserve(&memory, items, sizeof(double));
        t.marginal = reserve(&memory, items, sizeof(double));
        if (work->product) {
            t.slope = reserve(&memory, items, sizeof(double));
            t.change = reserve(&memory, items, sizeof(double));
        }
        t.a = reserve(&memory, size, sizeof(idx_t));
        t.b = reserve(&memory, size, sizeof(idx_t));
        t.weights = reserve(&memory, size, sizeof(double));
        t.second = reserve(&memory, size, sizeof(double));
        /* The first turn has measured. */
        if (!turn) memory.base = acquire_block(memory.used);
        if (!memory.base) return NO_MEMORY;
    }
    memset(memory.base, 0, memory.used);
    for (int m = 1; m <= n && s->span && s->arc; m++) {
        for (int h = 0; h <= n; h++) {
            t.x[arc_item(&t, m, h)] = finite(s->arc[m * s->size + h]);
            if (t.slope && s->arc_along)
                t.slope[arc_item(&t, m, h)] = s->arc_along[m * s->size + h];
        }
    }
    const double total = t.x[visit_all(&t, false)];
    work->partition[b] = total;
    if (total > GONE && (out->spans || out->heads)) {
        visit_all(&t, true);
        write_marginals(&t, out);
    }
    for (int sample = 0; sample < work->samples && total > GONE; sample++) {
        const samples to = samples_of(work, b, sample, s->arc ? 3 : 2);
        memset(t.marginal, 0, (size_t)items * sizeof(double));
        t.random = to.random;
        visit_all(&t, true);
        write_tree(&t, to);
    }
    release_block(memory.base);
    return total > GONE ? DONE : FORBIDDEN;
}
