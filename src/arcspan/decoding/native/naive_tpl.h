/* The O(n^5) head-driven search of Zhou & Zhao (2019): plain loops over split, head and modifier,
in double. The baseline of the speed table, and an oracle that shares nothing with the other
searches.

x[i, j, h] is the best headed span as in eisner_satta_tpl.h, but nothing is hooked in advance: at
every split each word of the other part is tried as the modifier of h.

    x[i, j, h] = s_c(i, j) + s(i, j, h) + max over k of
        h <= k:  x[i, k, h] + s(k, j, h) + max over m in (k, j] of x[k, j, m] + s_d(m, h)
        h > k:   x[k, j, h] + s(i, k, h) + max over m in (i, k] of x[i, k, m] + s_d(m, h) */

typedef struct {
    const double *span, *arc, *headed;
    idx_t size;
    bool packed;
    double *x; /* [(i * size + j) * size + h] */
} naive_chart;

static inline idx_t naive_cell(const naive_chart *c, idx_t i, idx_t j, idx_t h) {
    return (i * c->size + j) * c->size + h;
}

static inline double naive_second(const naive_chart *c, idx_t i, idx_t j, idx_t h) {
    return c->headed ? c->headed[row_number(c->packed, c->size, i, j) * c->size + h] : 0.0;
}

/* The best score of (i, j] with head h split at k, and the modifier: the first of the best in
   the other part. */
static double naive_split(const naive_chart *c, int i, int k, int j, int h, int *modifier) {
    const int low = h <= k ? k : i;
    const int high = h <= k ? j : k;
    double best = -INFINITY;
    *modifier = 0;
    for (int m = low + 1; m <= high; m++) {
        const double value = c->x[naive_cell(c, low, high, m)] + c->arc[m * c->size + h];
        if (value > best) {
            best = value;
            *modifier = m;
        }
    }
    best += naive_second(c, low, high, h);
    return best + (h <= k ? c->x[naive_cell(c, i, k, h)] : c->x[naive_cell(c, k, j, h)]);
}

/* The best score of (i, j] with head h but for its own scores, with its split and modifier. */
static double naive_best(const naive_chart *c, int i, int j, int h, int *split, int *modifier) {
    double best = j == i + 1 ? 0.0 : -INFINITY;
    *split = i + 1;
    *modifier = 0;
    for (int k = i + 1, m; k < j; k++) {
        const double value = naive_split(c, i, k, j, h, &m);
        if (value > best) {
            best = value;
            *split = k;
            *modifier = m;
        }
    }
    return best;
}

/* Whether all scores are small enough to be added up. */
static bool naive_fit(const naive_chart *c, int n) {
    bool fit = fit_spans(c->span, c->size, n) && fit_arcs(c->arc, c->size, n);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j <= n; j++)
            for (int h = 1; h <= n; h++) fit &= naive_second(c, i, j, h) < limit_of(n);
    return fit;
}

/* Search one sentence. Runs twice: first to measure `memory`, then to compute. */
static int naive_sentence(batch *batch, int b, arena *memory) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const idx_t size = work->size;
    const idx_t headed_rows = work->packed ? size * (size - 1) / 2 : size * size;
    naive_chart c = {
        .span = work->span + b * size * size,
        .arc = work->arc + b * size * size,
        .headed = work->headed ? work->headed + b * size * headed_rows : NULL,
        .size = size,
        .packed = work->packed,
        .x = reserve(memory, size * size * size, sizeof(double)),
    };
    int *stack = reserve(memory, 3 * (n + 1), sizeof *stack);
    int split;
    int modifier;
    if (!memory->base) return DONE;
    if (!naive_fit(&c, n)) return TOO_LARGE;
    for (int w = 1; w <= n; w++)
        for (int i = 0, j = w; j <= n; i++, j++)
            for (int h = i + 1; h <= j; h++) {
                const double below = naive_best(&c, i, j, h, &split, &modifier);
                const double score = below + c.span[i * size + j] + naive_second(&c, i, j, h);
                c.x[naive_cell(&c, i, j, h)] = score;
            }
    double best = -INFINITY;
    int root = 0;
    for (int m = 1; m <= n; m++) {
        const double value = c.x[naive_cell(&c, 0, n, m)] + c.arc[m * size];
        if (value > best) {
            best = value;
            root = m;
        }
    }
    if (!root) return FORBIDDEN;
    int64_t *heads = work->heads + b * size;
    int64_t *rows = work->rows + 3 * first_row(batch->lengths, b);
    heads[root] = 0;
    work->scores[b] = best;
    int top = 3;
    stack[0] = 0;
    stack[1] = n;
    stack[2] = root;
    while (top > 0) {
        const int h = stack[--top];
        const int j = stack[--top];
        const int i = stack[--top];
        *rows++ = i;
        *rows++ = j;
        *rows++ = h;
        if (j == i + 1) continue;
        naive_best(&c, i, j, h, &split, &modifier);
        heads[modifier] = h;
        stack[top++] = split;
        stack[top++] = j;
        stack[top++] = h > split ? h : modifier;
        stack[top++] = i;
        stack[top++] = split;
        stack[top++] = h <= split ? h : modifier;
    }
    return DONE;
}
