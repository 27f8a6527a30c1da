/* CKY over unlabelled binary trees: O(n^3) time, O(n^2) memory. A template: see algebra.h.

    x[i, j] = s(i, j) + max over k of x[i, k] + x[k, j]         (sums: s(i, j) * sum over k of x[i, k] * x[k, j])

The row of spans that begin at i is computed from i = n-1 down to 0. As soon as x[i, k] is known it is pushed as a
left part into all later spans of the row, LANES ends j at a time: both operands lie along rows. */

/* x[i, j] stands at i * stride + j; rows are padded so that lanes may run over their end. */
static inline place cky_stride(int n) { return n + 1 + LANES; }

static inline void cky_inside(const number *span, place size, int n, number *x) {
    const place stride = cky_stride(n);
    for (int i = n - 1; i >= 0; i--) {
        number *row = x + i * stride;
        for (int j = i + 2; j <= n; j += LANES) store(row + j, splat(NOTHING));
        row[i + 1] = UNIT;
        for (int k = i + 1; k <= n; k++) {
            row[k] = joined(row[k], span[i * size + k]);
            const number *right = x + k * stride;
            const lanes left = splat(row[k]);
            for (int j = k + 1; j <= n; j += LANES) store(row + j, combine(load(row + j), left, load(right + j)));
        }
    }
}

/* The best tree, or a tree drawn by chance, found again from the values: rows (i, j) in pre-order. False where there is
   none. `weights` has room for n numbers, `stack` for 2n. */
static inline bool cky_trace(int n, const number *x, const double *random, number *weights, int *stack, int64_t *rows) {
    const place stride = cky_stride(n);
    int top = 2;
    if (!(x[n] > NOTHING)) return false;
    stack[0] = 0, stack[1] = n;
    while (top > 0) {
        const int j = stack[--top], i = stack[--top];
        *rows++ = i, *rows++ = j;
        if (j == i + 1) continue;
        for (int k = i + 1; k < j; k++) weights[k - i - 1] = joined(x[i * stride + k], x[k * stride + j]);
        const int chosen_one = choose(weights, j - i - 1, &random);
        const int split = i + 1 + larger_int(chosen_one, 0);
        stack[top++] = split, stack[top++] = j;
        stack[top++] = i, stack[top++] = split;
    }
    return true;
}

#if ALGEBRA == SUMS
/* spans[i * size + j]: inside times outside, over the whole. The outside value g of a span is complete when its row comes;
   it is then multiplied by the span's own score, which its parts receive as well:

    g[i, k] += sum over j of g[i, j] * x[k, j]        g[k, j] += g[i, j] * x[i, k] */
static void cky_outside(const double *own, place size, int n, const double *x, double *g, double *spans) {
    const place stride = cky_stride(n);
    memset(g, 0, (size_t)(n * stride) * sizeof *g);
    g[n] = 1.0 / x[n];
    for (int i = 0; i < n; i++) {
        double *row = g + i * stride;
        for (int k = n; k > i; k--) {
            row[k] += dot(row + k + 1, x + k * stride + k + 1, n - k);
            row[k] = x[i * stride + k] > 0.0 ? row[k] : 0.0;
            spans[i * size + k] = row[k] * x[i * stride + k];
            row[k] = k > i + 1 ? row[k] * own[i * (n + 1) + k] : 0.0;
        }
        for (int k = i + 1; k < n; k++)
            add_scaled(g + k * stride + k + 1, row + k + 1, x[i * stride + k], n - k);
    }
}
#else
static int cky_sentence(batch *batch, int b, room *room) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const place size = work->size;
    const number *span = work->span + b * size * size;
    number *x = reserve(room, n * cky_stride(n), sizeof *x);
    number *weights = reserve(room, n, sizeof *weights);
    int *stack = reserve(room, 2 * (n + 1), sizeof *stack);
    if (!room->base) return DONE;
    if (!fit_spans(span, size, n)) return TOO_LARGE;
    cky_inside(span, size, n, x);
    int64_t *rows = work->rows + 2 * first_row(batch->lengths, b);
    if (!cky_trace(n, x, NULL, weights, stack, rows)) return FORBIDDEN;
    work->scores[b] = 0.0;
    for (int row = 0; row < 2 * n - 1; row++) work->scores[b] += span[rows[2 * row] * size + rows[2 * row + 1]];
    return DONE;
}
#endif
