/* Marginals over Eisner-Satta's chart of sums (eisner_satta.c): the outside algorithm, O(n^4).

Outside values g are divided by the total, so that inside times outside is a marginal probability: at most one. Once (i, j)
is done, g[i, j, h] holds for h inside what its two parts receive: the outside value times the span's own scores.

    out[i, k, h] = sum over j > k of g[i, j, h] * x[k, j, h]   +   sum over i' < i of g[i', k, h] * x[i', i, h]
    out[i, j, m] += sum over h outside of out[i, j, h] (* s(i, j, h)) * s_d(m, h)                  m inside

What a left part (i, k) receives is gathered along the row of i, four k at a time; what a right part (k, j) receives is
pushed from four rows i at a time. */

typedef struct {
    chart c;
    double *g;       /* [as c.x] */
    double *turned;  /* [h * stride + m] = attach[m, h] */
    double *outs;    /* [4 * stride]: the outside values of a tile's spans */
    double *hooked;  /* [j * stride + h], of one row i: the outside values for h outside */
    double *inner;   /* [j * stride + m], of one row i: x for m inside */
    double *sums;    /* [m * stride + h]: the marginals of arcs, but for their own scores */
    double *part;    /* [stride] */
} outside_chart;

static outside_chart new_outside(room *room, const chart *c) {
    outside_chart o = {.c = *c};
    o.g = reserve(room, c->plane * c->blocks, sizeof(double));
    o.turned = reserve(room, c->stride * c->stride, sizeof(double));
    o.outs = reserve(room, 4 * c->stride, sizeof(double));
    o.hooked = reserve(room, (c->n + 1) * c->stride, sizeof(double));
    o.inner = reserve(room, (c->n + 1) * c->stride, sizeof(double));
    o.sums = reserve(room, c->stride * c->stride, sizeof(double));
    o.part = reserve(room, c->stride, sizeof(double));
    return o;
}

/* The outside values of the spans of a tile, from the spans (i, j) beyond it and from what was pushed. */
static void gather(const outside_chart *o, int i, int first, int last) {
    const chart c = o->c;
    place rows[4];
    lanes value[4];
    for (int t = 0; t < 4; t++) rows[t] = row_of(&c, end_of(first, last, t));
    for (int block = 0; block < c.blocks; block++) {
        const double *g = o->g + block * c.plane + row_of(&c, i), *x = c.x + block * c.plane;
        for (int t = 0; t < 4; t++) value[t] = load(g + LANES * end_of(first, last, t));
        for (int j = larger_int(last + 1, LANES * block); j <= c.n && block >= (i + 1) / LANES; j++) {
            const lanes whole = load(g + LANES * j);
            for (int t = 0; t < 4; t++) value[t] = combine(value[t], whole, load(x + LANES * j + rows[t]));
        }
        for (int t = 0; t < 4; t++)
            store(o->outs + (end_of(first, last, t) - first) * c.stride + LANES * block, value[t]);
    }
}

/* The outside values of the hooked spans (i, j, h) of one block, times their second-order factors; zero for h inside. */
static inline void keep_hooked(const outside_chart *o, int i, int first, int j, int block, const double *second) {
    const chart *c = &o->c;
    const double *x = c->x + block * c->plane + row_of(c, i) + LANES * j;
    lanes value = where_positive(load(x), load(o->outs + (j - first) * c->stride + LANES * block));
    if (second) value = extend(value, load(second + LANES * block));
    if (block == 0) value = between(0, 1, c->n + 1, value, splat(0.0));
    store(o->hooked + j * c->stride + LANES * block, between(LANES * block, i + 1, j + 1, splat(0.0), value));
}

/* Add to the outside values of (i, j) the lanes of heads inside it. */
static inline void add_inside(const outside_chart *o, int i, int first, int j, int block, lanes value) {
    double *to = o->outs + (j - first) * o->c.stride + LANES * block;
    store(to, merge(load(to), between(LANES * block, i + 1, j + 1, value, splat(0.0))));
}

/* From the hooked values of a tile to the headed ones, for the words of every block but the one of its ends. */
static void unhook(const outside_chart *o, int i, int first, int last) {
    const chart c = o->c;
    const place stride = c.stride;
    const int own = first / LANES;
    for (int j = first; j <= last; j++) {
        const double *second = c.headed ? seconds_of(&c, i, j) : NULL;
        for (int block = 0; block < c.blocks; block++)
            if (block != own) keep_hooked(o, i, first, j, block, second);
    }
    const double *hooked[4];
    lanes value[4];
    for (int t = 0; t < 4; t++) hooked[t] = o->hooked + end_of(first, last, t) * stride;
    for (int block = (i + 1) / LANES; block <= own; block++) {
        const double *arcs = o->turned + LANES * block;
        for (int t = 0; t < 4; t++) value[t] = splat(0.0);
        for (int part = 0; part < 2; part++) {
            const int begin = part ? LANES * (own + 1) : 1, end = part ? c.n + 1 : smaller_int(i + 1, LANES * own);
            for (int h = begin; h < end; h++) {
                const lanes arc = load(arcs + h * stride);
                for (int t = 0; t < 4; t++) value[t] = combine(value[t], arc, splat(hooked[t][h]));
            }
        }
        for (int t = 0; t <= last - first; t++) add_inside(o, i, first, first + t, block, value[t]);
    }
}

/* What a span receives from later spans of its tile; then unhook the words of the block of its end. */
static void unhook_own(const outside_chart *o, int i, int first, int j, int last) {
    const chart c = o->c;
    const int own = j / LANES;
    double *outs = o->outs + (j - first) * c.stride;
    for (int block = (i + 1) / LANES; block <= own; block++) {
        const double *g = o->g + block * c.plane + row_of(&c, i), *x = c.x + block * c.plane + row_of(&c, j);
        lanes value = load(outs + LANES * block);
        for (int k = j + 1; k <= last; k++) value = combine(value, load(g + LANES * k), load(x + LANES * k));
        store(outs + LANES * block, value);
    }
    keep_hooked(o, i, first, j, own, c.headed ? seconds_of(&c, i, j) : NULL);
    const double *hooked = o->hooked + j * c.stride;
    for (int block = (i + 1) / LANES; block <= own; block++) {
        const double *arcs = o->turned + LANES * block;
        lanes value = splat(0.0);
        for (int h = larger_int(LANES * own, 1); h <= i; h++) value = combine(value, load(arcs + h * c.stride), splat(hooked[h]));
        for (int h = j + 1; h <= c.n && h < LANES * (own + 1); h++)
            value = combine(value, load(arcs + h * c.stride), splat(hooked[h]));
        add_inside(o, i, first, j, block, value);
    }
}

/* Inside times outside: the marginals of the headed and hooked spans (i, j, h). */
static void multiply_parts(const outside_chart *o, int i, int first, int j, const marginals *out) {
    const chart c = o->c;
    for (int block = 0; block < c.blocks; block++) {
        const lanes x = load(c.x + block * c.plane + row_of(&c, i) + LANES * j);
        const lanes value = where_positive(x, load(o->outs + (j - first) * c.stride + LANES * block));
        store(o->part + LANES * block, extend(x, value));
    }
    set_parts(out, i, j, c.n, o->part);
}

/* Finish the span (i, j): g for its parts, and its marginal. */
static double settle(const outside_chart *o, int i, int first, int j) {
    const chart c = o->c;
    const double *outs = o->outs + (j - first) * c.stride, *second = c.headed ? seconds_of(&c, i, j) : NULL;
    const lanes weight = splat(j > i + 1 ? c.span[i * c.size + j] : 0.0);
    lanes mass = splat(0.0);
    for (int block = (i + 1) / LANES; block <= j / LANES; block++) {
        const place at = block * c.plane + row_of(&c, i) + LANES * j;
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
    return total(mass);
}

/* sums[m, h] += inner[j, m] hooked[j, h] for the spans (i, j) of a row, four modifiers at a time. */
static void add_arcs(const outside_chart *o, int i) {
    const chart c = o->c;
    const place stride = c.stride;
    for (int m = (i + 1) & ~3; m <= c.n; m += 4) {
        for (int block = 0; block < c.blocks; block++) {
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

/* g[k, j] += g[i, j] x[i, k]: to the rows k of the same four at once, to later ones when all four are done. */
static void push_right(const outside_chart *o, int i) {
    const chart c = o->c;
    const int four = i & ~3, n = c.n;
    for (int block = (i + 1) / LANES; block < c.blocks; block++) {
        double *g = o->g + block * c.plane;
        const double *from = g + row_of(&c, i), *left = c.x + block * c.plane + row_of(&c, i);
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
            place rows[4];
            lanes left[4];
            for (int t = 0; t < 4; t++) {
                rows[t] = row_of(&c, four + t);
                left[t] = load(c.x + block * c.plane + rows[t] + LANES * k);
            }
            for (int j = larger_int(k + 1, LANES * block); j <= n; j++) {
                lanes value = load(into + LANES * j);
                for (int t = 0; t < 4; t++) value = combine(value, left[t], load(g + LANES * j + rows[t]));
                store(into + LANES * j, value);
            }
        }
    }
}

/* Whether a sum of probabilities is what it must be; false for NaN. */
static inline bool adds_up(double mass, double expected) { return fabs(mass - expected) <= 1e-5 * expected; }

/* Marginals from the chart, into `out`; root[m] is the outside value of the whole sentence headed by m. UNSAFE if their
   sums are off. */
static int outside(const outside_chart *o, const double *root, const marginals *out) {
    const chart c = o->c;
    const int n = c.n;
    const place stride = c.stride, size = out->size;
    memset(o->g, 0, (size_t)(c.plane * c.blocks) * sizeof(double));
    memset(o->sums, 0, (size_t)(stride * stride) * sizeof(double));
    memset(o->hooked, 0, (size_t)((n + 1) * stride) * sizeof(double));
    memset(o->inner, 0, (size_t)((n + 1) * stride) * sizeof(double));
    memset(o->turned, 0, (size_t)(stride * stride) * sizeof(double));
    for (int m = 1; m <= n; m++)
        for (int h = 1; h <= n; h++) o->turned[h * stride + m] = c.attach[m * stride + h];
    double everything = 0.0;
    for (int i = 0; i < n; i++) {
        for (int last = n, first; last > i; last = first - 1) {
            first = larger_int(last & ~3, i + 1);
            gather(o, i, first, last);
            if (last - i == n) memcpy(o->outs + (n - first) * stride, root, (size_t)stride * sizeof(double));
            unhook(o, i, first, last);
            for (int j = last; j >= first; j--) {
                unhook_own(o, i, first, j, last);
                if (out->parts) multiply_parts(o, i, first, j, out);
                everything += out->spans[i * size + j] = settle(o, i, first, j);
            }
        }
        add_arcs(o, i);
        push_right(o, i);
    }
    bool good = adds_up(everything, 2.0 * n - 1.0);
    for (int m = 1; m <= n; m++) {
        double mass = out->heads[m * size] = root[m] * *cell(&c, 0, n, m);
        for (int h = 1; h <= n; h++) {
            const double weight = c.attach[m * stride + h];
            mass += out->heads[m * size + h] = weight > 0.0 ? weight * o->sums[m * stride + h] : 0.0;
        }
        good &= adds_up(mass, 1.0);
    }
    return good ? DONE : UNSAFE;
}
