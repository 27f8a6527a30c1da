/* CKY over unlabelled binary trees: O(n^3) time, O(n^2) memory. A template: see algebra.h.

    x[i, j] = s(i, j) + max over k of x[i, k] + x[k, j]
    (sums: x[i, j] = s(i, j) * sum over k of x[i, k] * x[k, j])

A row of the chart holds the spans of one width by where they begin, so that LANES neighbours are
computed at once from parts that lie side by side as well:

    x[w][i] = s(i, i+w) + max over k of x[k][i] + x[w-k][i+k] */

/* The index of x[w][i] is w * stride + i; rows are padded so that lanes may run over their end. */
static inline idx_t cky_stride(int n) { return n + 1 + LANES; }

/* Begin the spans of a tile, four widths w to w + 3 of LANES neighbours. value[t] gets the splits k
   that have no part in the tile itself. What is loaded for one width serves the others.

    value[t] = max over TILE <= k < w of left[k][i] + right[w+t-k][i+k] */
#define TILE 4
INLINED void add_splits(const num_t *left, const num_t *right, idx_t stride, int w, int i,
                        lanes *value) {
    lanes p = splat(NO_TREE);
    lanes q = p;
    lanes r = p;
    lanes s = p;
    for (int k = TILE; k < w; k++) {
        const lanes part = load(left + k * stride + i);
        const num_t *right_part = right + (w - k) * stride + i + k;
        p = combine(p, part, load(right_part));
        q = combine(q, part, load(right_part + stride));
        r = combine(r, part, load(right_part + 2 * stride));
        s = combine(s, part, load(right_part + 3 * stride));
    }
    value[0] = p;
    value[1] = q;
    value[2] = r;
    value[3] = s;
}

/* The split after k, of those that have a part in the tile: all below TILE, and from w on. */
INLINED int next_split(int k, int w) { return k + 1 == TILE && w > TILE ? w : k + 1; }

/* Fill the chart from span[i * size + j]. For sums the caller has set it to zero, and its padding
   stays so: a span beyond the sentence has a part beyond it.

    x[w][i] = s(i, i+w) + max over 1 <= k < w of x[k][i] + x[w-k][i+k]

   Blocks of words from the last to the first, since the right parts begin at later words. */
static inline void cky_inside(const num_t *span, idx_t size, int n, num_t *x) {
    const idx_t stride = cky_stride(n);
    for (int i = 0; i < n; i++)
        for (int w = 1; w <= n - i; w++) x[w * stride + i] = span[i * size + i + w];
    for (int i = (n - 1) / LANES * LANES; i >= 0; i -= LANES) {
        for (int w = 2; w <= n - i; w += TILE) {
            lanes values[TILE];
            add_splits(x, x, stride, w, i, values);
            for (int v = w; v < w + TILE && v <= n - i; v++) {
                lanes value = values[v - w];
                for (int k = 1; k < v; k = next_split(k, w))
                    value = combine(value, load(x + k * stride + i),
                                    load(x + (v - k) * stride + i + k));
                store(x + v * stride + i, extend(value, load(x + v * stride + i)));
            }
        }
    }
}

/* Trace the best tree, or one drawn by chance, back through the values: rows (i, j) in
   pre-order. False if there is none. `weights` holds n numbers, `stack` 2n. */
static inline bool cky_trace(int n, const num_t *x, const double *random, num_t *weights,
                             int *stack, int64_t *rows) {
    const idx_t stride = cky_stride(n);
    int top = 2;
    /* False for NaN, too. */
    if (!(x[n * stride] > NO_TREE)) return false;
    stack[0] = 0;
    stack[1] = n;
    while (top > 0) {
        const int j = stack[--top];
        const int i = stack[--top];
        *rows++ = i;
        *rows++ = j;
        if (j == i + 1) continue;
        for (int k = i + 1; k < j; k++)
            weights[k - i - 1] = extend_one(x[(k - i) * stride + i], x[(j - k) * stride + k]);
        const int split = i + 1 + larger_int(choose(weights, j - i - 1, &random), 0);
        /* The left part on top: pre-order. */
        stack[top++] = split;
        stack[top++] = j;
        stack[top++] = i;
        stack[top++] = split;
    }
    return true;
}

#if ALGEBRA == SUMS
/* Copy a chart by begin and end: to[i * stride + j] for the span (i, j), as the outside
   algorithms read it. */
static void by_ends(const double *x, idx_t stride, int n, double *to) {
    for (int i = 0; i <= n; i++)
        for (int w = 0; w <= n - i; w++) to[i * stride + i + w] = x[w * stride + i];
}

/* Write the marginals spans[i * size + j]: inside times outside, over the total; x by ends. The
   outside value g of a span is complete when its row comes; it is then multiplied by the span's
   score, which its parts receive as well:

    g[i, k] += sum over j of g[i, j] * x[k, j]        g[k, j] += g[i, j] * x[i, k] */
static void cky_outside(const double *factors, idx_t size, int n, const double *x, double *g,
                        double *spans) {
    const idx_t stride = cky_stride(n);
    memset(g, 0, (size_t)(n * stride) * sizeof *g);
    g[n] = 1.0 / x[n];
    for (int i = 0; i < n; i++) {
        double *row = g + i * stride;
        for (int k = n; k > i; k--) {
            row[k] += dot(row + k + 1, x + k * stride + k + 1, n - k);
            row[k] = x[i * stride + k] > 0.0 ? row[k] : 0.0;
            spans[i * size + k] = row[k] * x[i * stride + k];
            row[k] = k > i + 1 ? row[k] * factors[i * (n + 1) + k] : 0.0;
        }
        for (int k = i + 1; k < n; k++)
            add_scaled(g + k * stride + k + 1, row + k + 1, x[i * stride + k], n - k);
    }
}
#else
/* Search one sentence. Runs twice: first to measure `memory`, then to compute. */
static int cky_sentence(batch *batch, int b, arena *memory) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const idx_t size = work->size;
    const num_t *span = work->span + b * size * size;
    num_t *x = reserve(memory, (n + 1) * cky_stride(n), sizeof *x);
    num_t *weights = reserve(memory, n, sizeof *weights);
    int *stack = reserve(memory, 2 * (n + 1), sizeof *stack);
    if (!memory->base) return DONE;
    if (!fit_spans(span, size, n)) return TOO_LARGE;
    cky_inside(span, size, n, x);
    int64_t *rows = work->rows + 2 * first_row(batch->lengths, b);
    if (!cky_trace(n, x, NULL, weights, stack, rows)) return FORBIDDEN;
    work->scores[b] = 0.0;
    for (int row = 0; row < 2 * n - 1; row++)
        work->scores[b] += span[rows[2 * row] * size + rows[2 * row + 1]];
    return DONE;
}
#endif
