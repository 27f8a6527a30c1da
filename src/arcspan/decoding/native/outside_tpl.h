/* Marginals over Eisner-Satta's chart of sums (eisner_satta_tpl.h): the outside algorithm, O(n^4).

Outside values g are divided by the total, so that inside times outside is a marginal probability:
at most one. Once (i, j) is done, g[i, j, h] holds for h inside what its two parts receive: the
outside value times the scores of the span itself.

    out[i, k, h] = sum over j > k of g[i, j, h] * x[k, j, h]
                 + sum over i' < i of g[i', k, h] * x[i', i, h]
    out[i, j, m] += sum over h outside of out[i, j, h] (* s(i, j, h)) * s_d(m, h)         m inside

What a left part (i, k) receives is gathered along the row of i, four k at a time; what a right
part (k, j) receives is pushed from four rows i at a time. */

typedef struct {
    chart c;
    double *g;       /* [as c.x] */
    double *turned;  /* [h * stride + m] = attach[m, h] */
    double *outs;    /* [4 * stride]: the outside values of a tile's spans */
    double *hooked;  /* [j * stride + h], of one row i: the outside values for h outside */
    double *inner;   /* [j * stride + m], of one row i: x for m inside */
    double *sums;    /* [m * stride + h]: the marginals of arcs, not yet times their scores */
    double *part;    /* [stride] */
} outside_chart;

/* The outside chart of a chart, in memory that is not cleared yet. */
static outside_chart new_outside(arena *memory, const chart *c) {
    outside_chart o = {.c = *c};
    o.g = reserve(memory, c->plane * c->blocks, sizeof(double));
    o.turned = reserve(memory, c->stride * c->stride, sizeof(double));
    o.outs = reserve(memory, 4 * c->stride, sizeof(double));
    o.hooked = reserve(memory, (c->n + 1) * c->stride, sizeof(double));
    o.inner = reserve(memory, (c->n + 1) * c->stride, sizeof(double));
    o.sums = reserve(memory, c->stride * c->stride, sizeof(double));
    o.part = reserve(memory, c->stride, sizeof(double));
    return o;
}

/* Set the outside values of the spans (i, k) of a tile from the spans (i, j) beyond it and from
   what was pushed: out[i, k, h] = g[i, k, h] + sum over j of g[i, j, h] * x[k, j, h]. */
static void gather(const outside_chart *o, int i, int first, int last) {
    const chart c = o->c;
    idx_t rows[4];
    lanes value[4];
    for (int t = 0; t < 4; t++) rows[t] = row_of(&c, end_of(first, last, t));
    for (int block = 0; block < c.blocks; block++) {
        const double *g = o->g + block * c.plane + row_of(&c, i);
        const double *x = c.x + block * c.plane;
        for (int t = 0; t < 4; t++) value[t] = load(g + LANES * end_of(first, last, t));
        /* Blocks of words before i + 1 have no head of such a span. */
        const int end = block >= (i + 1) / LANES ? c.n : 0;
        for (int j = larger_int(last + 1, LANES * block); j <= end; j++) {
            const lanes parent = load(g + LANES * j);
            for (int t = 0; t < 4; t++)
                value[t] = combine(value[t], parent, load(x + LANES * j + rows[t]));
        }
        for (int t = 0; t < 4; t++)
            store(o->outs + (end_of(first, last, t) - first) * c.stride + LANES * block, value[t]);
    }
}

/* Keep the outside values of the hooked spans (i, j, h) of one block, times their second-order
   factors; zero for h inside. */
static inline void keep_hooked(const outside_chart *o, int i, int first, int j, int block,
                               const double *second) {
    const chart *c = &o->c;
    const double *x = c->x + block * c->plane + row_of(c, i) + LANES * j;
    lanes value = where_positive(load(x), load(o->outs + (j - first) * c->stride + LANES * block));
    if (second) value = extend(value, load(second + LANES * block));
    if (block == 0) value = between(0, 1, c->n + 1, value, splat(0.0));
    store(o->hooked + j * c->stride + LANES * block,
          between(LANES * block, i + 1, j + 1, splat(0.0), value));
}

/* Add to the outside values of (i, j) the lanes of heads inside it. */
static inline void add_inside(const outside_chart *o, int i, int first, int j, int block,
                              lanes value) {
    double *to = o->outs + (j - first) * o->c.stride + LANES * block;
    store(to, merge(load(to), between(LANES * block, i + 1, j + 1, value, splat(0.0))));
}

/* Carry the outside values of a tile from hooked to headed spans, for the heads h of every block
   but the one of the tile's ends: out[i, j, m] += sum over h of hooked[j, h] * s_d(m, h). */
static void unhook(const outside_chart *o, int i, int first, int last) {
    const chart c = o->c;
    const idx_t stride = c.stride;
    const int end_block = first / LANES;
    for (int j = first; j <= last; j++) {
        const double *second = c.headed ? seconds_of(&c, i, j) : NULL;
        for (int block = 0; block < c.blocks; block++)
            if (block != end_block) keep_hooked(o, i, first, j, block, second);
    }
    const double *hooked[4];
    lanes value[4];
    for (int t = 0; t < 4; t++) hooked[t] = o->hooked + end_of(first, last, t) * stride;
    for (int block = (i + 1) / LANES; block <= end_block; block++) {
        const double *arcs = o->turned + LANES * block;
        for (int t = 0; t < 4; t++) value[t] = splat(0.0);
        /* Heads up to i in the blocks before, then heads in the blocks after. */
        for (int after = 0; after < 2; after++) {
            const int begin = after ? LANES * (end_block + 1) : 1;
            const int end = after ? c.n + 1 : smaller_int(i + 1, LANES * end_block);
            for (int h = begin; h < end; h++) {
                const lanes arc = load(arcs + h * stride);
                for (int t = 0; t < 4; t++) value[t] = combine(value[t], arc, splat(hooked[t][h]));
            }
        }
        for (int t = 0; t <= last - first; t++) add_inside(o, i, first, first + t, block, value[t]);
    }
}

/* Add what a span receives from later spans of its tile; then unhook the words of the block of
   its end. */
static void unhook_own(const outside_chart *o, int i, int first, int j, int last) {
    const chart c = o->c;
    const int end_block = j / LANES;
    double *outs = o->outs + (j - first) * c.stride;
    for (int block = (i + 1) / LANES; block <= end_block; block++) {
        const double *g = o->g + block * c.plane + row_of(&c, i);
        const double *x = c.x + block * c.plane + row_of(&c, j);
        lanes value = load(outs + LANES * block);
        for (int k = j + 1; k <= last; k++)
            value = combine(value, load(g + LANES * k), load(x + LANES * k));
        store(outs + LANES * block, value);
    }
    keep_hooked(o, i, first, j, end_block, c.headed ? seconds_of(&c, i, j) : NULL);
    const double *hooked = o->hooked + j * c.stride;
    for (int block = (i + 1) / LANES; block <= end_block; block++) {
        const double *arcs = o->turned + LANES * block;
        lanes value = splat(0.0);
        for (int h = larger_int(LANES * end_block, 1); h <= i; h++)
            value = combine(value, load(arcs + h * c.stride), splat(hooked[h]));
        for (int h = j + 1; h <= c.n && h < LANES * (end_block + 1); h++)
            value = combine(value, load(arcs + h * c.stride), splat(hooked[h]));
        add_inside(o, i, first, j, block, value);
    }
}

/* Write the marginals of the headed and hooked spans (i, j, h): inside times outside. */
static void multiply_parts(const outside_chart *o, int i, int first, int j, const marginals *out) {
    const chart c = o->c;
    for (int block = 0; block < c.blocks; block++) {
        const lanes x = load(c.x + block * c.plane + row_of(&c, i) + LANES * j);
        const lanes out_value = load(o->outs + (j - first) * c.stride + LANES * block);
        store(o->part + LANES * block, extend(x, where_positive(x, out_value)));
    }
    set_parts(out, i, j, c.n, o->part);
}

/* Finish the span (i, j): set g for its parts, return its marginal probability. */
static double settle(const outside_chart *o, int i, int first, int j) {
    const chart c = o->c;
    const double *outs = o->outs + (j - first) * c.stride;
    const double *second = c.headed ? seconds_of(&c, i, j) : NULL;
    const lanes weight = splat(j > i + 1 ? c.span[i * c.size + j] : 0.0);
    lanes mass = splat(0.0);
    for (int block = (i + 1) / LANES; block <= j / LANES; block++) {
        const idx_t at = block * c.plane + row_of(&c, i) + LANES * j;
        const lanes value = between(LANES * block, i + 1, j + 1, load(c.x + at), splat(0.0));
        lanes out = where_positive(value, load(outs + LANES * block));
        mass = combine(mass, value, out);
        out = extend(out, weight);
        if (second) out = extend(out, load(second + LANES * block));
        store(o->g + at, out);
        store(o->inner + j * c.stride + LANES * block, value);
    }
    /* Rows are pushed by fours: a later row of the four may begin a block later than the first. */
    for (int block = ((i & ~3) + 1) / LANES; block < (i + 1) / LANES; block++)
        store(o->g + block * c.plane + row_of(&c, i) + LANES * j, splat(0.0));
    return sum_lanes(mass);
}

/* sums[m, h] += inner[j, m] hooked[j, h] for the spans (i, j) of a row, four modifiers at a
   time. */
static void add_arcs(const outside_chart *o, int i) {
    const chart c = o->c;
    const idx_t stride = c.stride;
    for (int m = (i + 1) & ~3; m <= c.n; m += 4) {
        for (int block = 0; block < c.blocks; block++) {
            /* Heads at or before i, in the first blocks, are outside of every span of the row. */
            const bool before = LANES * block <= i;
            if (!before && block < m / LANES) continue;
            double *to = o->sums + m * stride + LANES * block;
            lanes value[4];
            for (int t = 0; t < 4; t++) value[t] = load(to + t * stride);
            const int end = before ? c.n : smaller_int(c.n, LANES * block + LANES - 1);
            for (int j = larger_int(m, i + 1); j <= end; j++) {
                const lanes out = load(o->hooked + j * stride + LANES * block);
                const double *inner = o->inner + j * stride + m;
                for (int t = 0; t < 4; t++) value[t] = combine(value[t], out, splat(inner[t]));
            }
            for (int t = 0; t < 4; t++) store(to + t * stride, value[t]);
        }
    }
}

/* g[k, j] += g[i, j] x[i, k]: to the rows k of the same four at once, to later ones when all
   four are done. */
static void push_right(const outside_chart *o, int i) {
    const chart c = o->c;
    const int four = i & ~3;
    const int n = c.n;
    for (int block = (i + 1) / LANES; block < c.blocks; block++) {
        double *g = o->g + block * c.plane;
        const double *from = g + row_of(&c, i);
        const double *left = c.x + block * c.plane + row_of(&c, i);
        for (int k = i + 1; k < smaller_int(four + 4, n); k++) {
            const lanes p = load(left + LANES * k);
            double *into = g + row_of(&c, k);
            for (int j = larger_int(k + 1, LANES * block); j <= n; j++)
                store(into + LANES * j, combine(load(into + LANES * j), p, load(from + LANES * j)));
        }
    }
    if (i != four + 3) return;
    for (int block = (four + 1) / LANES; block < c.blocks; block++) {
        double *g = o->g + block * c.plane;
        for (int k = four + 4; k < n; k++) {
            double *into = g + row_of(&c, k);
            idx_t rows[4];
            lanes left[4];
            for (int t = 0; t < 4; t++) {
                rows[t] = row_of(&c, four + t);
                left[t] = load(c.x + block * c.plane + rows[t] + LANES * k);
            }
            for (int j = larger_int(k + 1, LANES * block); j <= n; j++) {
                lanes value = load(into + LANES * j);
                for (int t = 0; t < 4; t++)
                    value = combine(value, left[t], load(g + LANES * j + rows[t]));
                store(into + LANES * j, value);
            }
        }
    }
}

/* Whether a sum of probabilities is what it must be; false for NaN. */
static inline bool adds_up(double mass, double expected) {
    return fabs(mass - expected) <= 1e-5 * expected;
}

/* Write marginals from the chart into `out`; root[m] is the outside value of the sentence headed
   by m. UNSAFE if their sums are off. */
static int outside(const outside_chart *o, const double *root, const marginals *out) {
    const chart c = o->c;
    const int n = c.n;
    const idx_t stride = c.stride;
    const idx_t size = out->size;
    memset(o->g, 0, (size_t)(c.plane * c.blocks) * sizeof(double));
    memset(o->sums, 0, (size_t)(stride * stride) * sizeof(double));
    memset(o->hooked, 0, (size_t)((n + 1) * stride) * sizeof(double));
    memset(o->inner, 0, (size_t)((n + 1) * stride) * sizeof(double));
    memset(o->turned, 0, (size_t)(stride * stride) * sizeof(double));
    for (int m = 1; m <= n; m++)
        for (int h = 1; h <= n; h++) o->turned[h * stride + m] = c.attach[m * stride + h];
    double span_mass = 0.0;
    for (int i = 0; i < n; i++) {
        for (int last = n, first; last > i; last = first - 1) {
            first = larger_int(last & ~3, i + 1);
            gather(o, i, first, last);
            if (last - i == n)
                memcpy(o->outs + (n - first) * stride, root, (size_t)stride * sizeof(double));
            unhook(o, i, first, last);
            for (int j = last; j >= first; j--) {
                unhook_own(o, i, first, j, last);
                if (out->parts) multiply_parts(o, i, first, j, out);
                out->spans[i * size + j] = settle(o, i, first, j);
                span_mass += out->spans[i * size + j];
            }
        }
        add_arcs(o, i);
        push_right(o, i);
    }
    /* A tree has 2n - 1 spans, and every word has one head. */
    bool correct = adds_up(span_mass, 2.0 * n - 1.0);
    for (int m = 1; m <= n; m++) {
        out->heads[m * size] = root[m] * *cell(&c, 0, n, m);
        double mass = out->heads[m * size];
        for (int h = 1; h <= n; h++) {
            const double weight = c.attach[m * stride + h];
            const double chance = weight > 0.0 ? weight * o->sums[m * stride + h] : 0.0;
            out->heads[m * size + h] = chance;
            mass += chance;
        }
        correct &= adds_up(mass, 1.0);
    }
    return correct ? DONE : UNSAFE;
}
