/* The O(n^5) head-driven search of Zhou & Zhao (2019): plain loops over split, head and modifier, in double. The baseline
of the speed table, and an oracle that shares nothing with the other searches.

x[i, j, h] is the best headed span as in eisner_satta.c, but nothing is hooked in advance: at every split each word of the
other part is tried as the modifier of h. */

typedef struct {
    const double *span, *arc, *headed;
    place size;
    bool packed;
    double *x; /* [(i * size + j) * size + h] */
} naive_chart;

static inline place naive_cell(const naive_chart *c, place i, place j, place h) { return (i * c->size + j) * c->size + h; }

static inline double naive_second(const naive_chart *c, place i, place j, place h) {
    return c->headed ? c->headed[row_number(c->packed, c->size, i, j) * c->size + h] : 0.0;
}

/* The best score of (i, j] with head h split at k, and the modifier: the first of the best in the other part. */
static double naive_split(const naive_chart *c, int i, int k, int j, int h, int *modifier) {
    const int low = h <= k ? k : i, high = h <= k ? j : k;
    double best = -INFINITY;
    *modifier = 0;
    for (int m = low + 1; m <= high; m++) {
        const double value = c->x[naive_cell(c, low, high, m)] + c->arc[m * c->size + h];
        if (value > best) best = value, *modifier = m;
    }
    best += naive_second(c, low, high, h);
    return best + (h <= k ? c->x[naive_cell(c, i, k, h)] : c->x[naive_cell(c, k, j, h)]);
}

static double naive_best(const naive_chart *c, int i, int j, int h, int *split, int *modifier) {
    double best = j == i + 1 ? 0.0 : -INFINITY;
    *split = i + 1, *modifier = 0;
    for (int k = i + 1, m; k < j; k++) {
        const double value = naive_split(c, i, k, j, h, &m);
        if (value > best) best = value, *split = k, *modifier = m;
    }
    return best;
}

static bool naive_fit(const naive_chart *c, int n) {
    bool fit = fit_spans(c->span, c->size, n) && fit_arcs(c->arc, c->size, n);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j <= n; j++)
            for (int h = 1; h <= n; h++) fit &= naive_second(c, i, j, h) < limit_of(n);
    return fit;
}

static int naive_sentence(batch *batch, int b, room *room) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const place size = work->size;
    naive_chart c = {work->span + b * size * size, work->arc + b * size * size, NULL, size, work->packed,
                     reserve(room, size * size * size, sizeof(double))};
    if (work->headed) c.headed = work->headed + b * size * (c.packed ? size * (size - 1) / 2 : size * size);
    int *stack = reserve(room, 3 * (n + 1), sizeof *stack), split, modifier;
    if (!room->base) return DONE;
    if (!naive_fit(&c, n)) return TOO_LARGE;
    for (int w = 1; w <= n; w++)
        for (int i = 0, j = w; j <= n; i++, j++)
            for (int h = i + 1; h <= j; h++)
                c.x[naive_cell(&c, i, j, h)] = naive_best(&c, i, j, h, &split, &modifier) + c.span[i * size + j] +
                                               naive_second(&c, i, j, h);
    double best = -INFINITY;
    int root = 0;
    for (int m = 1; m <= n; m++) {
        const double value = c.x[naive_cell(&c, 0, n, m)] + c.arc[m * size];
        if (value > best) best = value, root = m;
    }
    if (!root) return FORBIDDEN;
    int64_t *heads = work->heads + b * size, *rows = work->rows + 3 * first_row(batch->lengths, b);
    heads[root] = 0;
    work->scores[b] = best;
    int top = 3;
    stack[0] = 0, stack[1] = n, stack[2] = root;
    while (top > 0) {
        const int h = stack[--top], j = stack[--top], i = stack[--top];
        *rows++ = i, *rows++ = j, *rows++ = h;
        if (j == i + 1) continue;
        naive_best(&c, i, j, h, &split, &modifier);
        heads[modifier] = h;
        stack[top++] = split, stack[top++] = j, stack[top++] = h > split ? h : modifier;
        stack[top++] = i, stack[top++] = split, stack[top++] = h <= split ? h : modifier;
    }
    return DONE;
}
