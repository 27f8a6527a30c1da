/* Sums over all trees with logarithms: CKY and Eisner, O(n^3), and Eisner-Satta, O(n^4), without limits of range.

A chart holds logarithms of sums; a forbidden item holds ZERO, finite so that differences stay numbers. Marginals go from
the whole to the parts: a part receives the marginal of what it was built into times the share of that way of building it
among all. Shares add up to one however large the scores are, and no outside chart is needed. Samples are drawn by the
same shares. For scores that the fast kernels (sums.c) cannot hold: rare, so the loops are plain. */

static inline double finite(double score) { return score > ZERO ? score : ZERO; }

/* The greatest of a[k] + b[k * step], k < count, and the sum of their exponentials relative to it, into *total. */
static double weigh(const double *a, const double *b, place step, int count, double *total) {
    double best = 2.0 * ZERO, sum = 0.0;
    for (int k = 0; k < count; k++) best = larger(best, a[k] + b[k * step]);
    for (int k = 0; k < count; k++) sum += exp_negative((a[k] + b[k * step]) - best);
    *total = sum;
    return best;
}

static double log_sum(const double *a, const double *b, place step, int count) {
    double sum, best = weigh(a, b, step, count, &sum);
    return best > GONE ? best + log(sum) : ZERO;
}

/* Hand out `mass` to the parts, into_a[k] and into_b[k * step], in proportion to exp(a[k] + b[k * step]). */
static void share_out(const double *a, const double *b, place step, int count, double mass, double *into_a,
                      double *into_b) {
    double sum, best = weigh(a, b, step, count, &sum);
    if (!(mass > 0.0)) return;
    for (int k = 0; k < count; k++) {
        const double value = mass / sum * exp_negative((a[k] + b[k * step]) - best);
        into_a[k] += value;
        into_b[k * step] += value;
    }
}

/* The log-partition of binary trees; their marginals into spans[i * size + j] unless that is NULL. */
static double log_cky(const scores *s, double *x, double *marginal, double *spans) {
    const int n = s->n;
    const place stride = cky_stride(n);
    for (int w = 1; w <= n; w++) {
        for (int i = 0, j = w; j <= n; i++, j++) {
            double value = w == 1 ? 0.0 : log_sum(x + i * stride + i + 1, x + (i + 1) * stride + j, stride, w - 1);
            value += finite(s->span[i * s->size + j]);
            x[i * stride + j] = value > GONE ? value : ZERO;
        }
    }
    if (!spans || x[n] < GONE) return x[n];
    memset(marginal, 0, (size_t)(n * stride) * sizeof *marginal);
    marginal[n] = 1.0;
    for (int w = n; w >= 1; w--) {
        for (int i = 0, j = w; j <= n; i++, j++) {
            const place row = i * stride + i + 1, column = (i + 1) * stride + j;
            const double mass = spans[i * s->size + j] = marginal[i * stride + j];
            share_out(x + row, x + column, stride, w - 1, mass, marginal + row, marginal + column);
        }
    }
    return x[n];
}

/* The log-partition of projective trees with one root; their marginals into heads[m * size + h] unless that is NULL.
   `whole` and `root` have room for n + 1: the trees headed by m, and its root arc. */
static double log_eisner(const scores *s, halves x, halves g, double *whole, double *root, double *heads) {
    const int n = s->n;
    const place stride = eisner_stride(n), size = s->size;
    for (int i = 1; i <= n; i++) x.right[i * stride + i] = x.left[i * stride + i] = 0.0;
    for (int w = 1; w < n; w++) {
        for (int i = 1, j = 1 + w; j <= n; i++, j++) {
            const place at = i * stride + j, row = i * stride + i, column = i * stride + j;
            const double both = log_sum(x.right + row, x.left + column + stride, stride, w);
            const double to_right = both + finite(s->arc[j * size + i]), to_left = both + finite(s->arc[i * size + j]);
            x.arc_right[at] = to_right > GONE ? to_right : ZERO;
            x.arc_left[at] = to_left > GONE ? to_left : ZERO;
            x.right[at] = log_sum(x.arc_right + row + 1, x.right + column + stride, stride, w);
            x.left[at] = log_sum(x.left + row, x.arc_left + column, stride, w);
        }
    }
    for (int m = 1; m <= n; m++) {
        whole[m] = x.left[stride + m] + x.right[m * stride + n];
        root[m] = finite(s->arc[m * size]);
    }
    const double found = log_sum(whole + 1, root + 1, 1, n);
    if (!heads || found < GONE) return found;
    double sum, best = weigh(whole + 1, root + 1, 1, n, &sum);
    for (int m = 1; m <= n; m++) {
        const double chance = heads[m * size] = exp_negative((whole[m] + root[m]) - best) / sum;
        g.left[stride + m] += chance;
        g.right[m * stride + n] += chance;
    }
    for (int w = n - 1; w >= 1; w--) {
        for (int i = 1, j = 1 + w; j <= n; i++, j++) {
            const place at = i * stride + j, row = i * stride + i, column = i * stride + j, below = column + stride;
            share_out(x.arc_right + row + 1, x.right + below, stride, w, g.right[at], g.arc_right + row + 1,
                      g.right + below);
            share_out(x.left + row, x.arc_left + column, stride, w, g.left[at], g.left + row, g.arc_left + column);
            heads[j * size + i] = g.arc_right[at];
            heads[i * size + j] = g.arc_left[at];
            /* Both arcs are built from the same two halves: the share of a split is the same for both. */
            share_out(x.right + row, x.left + below, stride, w, g.arc_right[at] + g.arc_left[at], g.right + row,
                      g.left + below);
        }
    }
    return found;
}

/* For every head of the blocks of (i, j]: the best split, and the sum of all relative to it. */
static void weigh_splits(const chart *c, int i, int j, double *best, double *sum) {
    for (int h = (i + 1) / LANES * LANES; h <= j; h += LANES) {
        for (int lane = h; lane < h + LANES; lane++) best[lane] = j == i + 1 ? 0.0 : 2.0 * ZERO, sum[lane] = 0.0;
        for (int k = i + 1; k < j; k++) {
            const double *left = cell(c, i, k, h), *right = cell(c, k, j, h);
            for (int lane = 0; lane < LANES; lane++) best[h + lane] = larger(best[h + lane], left[lane] + right[lane]);
        }
        for (int k = i + 1; k < j; k++) {
            const double *left = cell(c, i, k, h), *right = cell(c, k, j, h);
            for (int lane = 0; lane < LANES; lane++)
                sum[h + lane] += exp_negative(smaller((left[lane] + right[lane]) - best[h + lane], 0.0));
        }
        if (j == i + 1) sum[j] = 1.0;
    }
}

/* For every head: the best word of (i, j] to attach to it, and the sum of all relative to it. */
static void weigh_modifiers(const chart *c, int i, int j, double *best, double *sum) {
    for (place h = 0; h < c->stride; h++) best[h] = 2.0 * ZERO, sum[h] = 0.0;
    for (int m = i + 1; m <= j; m++) {
        const double value = *cell(c, i, j, m), *arc = c->attach + m * c->stride;
        for (place h = 0; h < c->stride; h++) best[h] = larger(best[h], value + arc[h]);
    }
    for (int m = i + 1; m <= j; m++) {
        const double value = *cell(c, i, j, m), *arc = c->attach + m * c->stride;
        for (place h = 0; h < c->stride; h++) sum[h] += exp_negative(smaller((value + arc[h]) - best[h], 0.0));
    }
}

/* The log-partition of lexicalized trees. Marginals unless `out` has no room for spans: spans, heads, and parts. g is a
   chart of marginals, best, sum and buffer have room for c->stride. */
static double log_joint(const scores *s, const chart *c, double *g, double *best, double *sum, double *buffer,
                        const marginals *out) {
    const int n = s->n;
    const place size = s->size;
    for (place at = 0; at < c->plane * c->blocks; at++) c->x[at] = ZERO;
    for (int m = 1; m <= n; m++)
        for (int h = 0; h < c->stride; h++)
            c->attach[m * c->stride + h] = h <= n && h != m ? finite(s->arc[m * size + h]) : ZERO;
    for (int w = 1; w <= n; w++) {
        for (int i = 0, j = w; j <= n; i++, j++) {
            const double *second = s->headed ? headed_row(s, i, j, buffer) : NULL;
            weigh_splits(c, i, j, best, sum);
            for (int h = i + 1; h <= j; h++) {
                const double value = best[h] + log(sum[h]) + finite(s->span[i * size + j]) +
                                     (second ? finite(second[h]) : 0.0);
                *cell(c, i, j, h) = value > GONE ? value : ZERO;
            }
            if (w == n) continue;
            weigh_modifiers(c, i, j, best, sum);
            for (int h = 1; h <= n; h++) {
                if (h > i && h <= j) continue;
                const double value = best[h] + log(sum[h]) + (second ? finite(second[h]) : 0.0);
                *cell(c, i, j, h) = value > GONE ? value : ZERO;
            }
        }
    }
    for (int m = 1; m <= n; m++) best[m] = *cell(c, 0, n, m), sum[m] = c->attach[m * c->stride];
    const double partition = log_sum(best + 1, sum + 1, 1, n);
    if (!out->spans || partition < GONE) return partition;

    chart marginal = *c;
    marginal.x = g;
    memset(g, 0, (size_t)(c->plane * c->blocks) * sizeof *g);
    double whole, greatest_one = weigh(best + 1, sum + 1, 1, n, &whole);
    for (int m = 1; m <= n; m++) {
        memset(out->heads + m * size, 0, (size_t)(n + 1) * sizeof(double));
        const double chance = exp_negative((best[m] + sum[m]) - greatest_one) / whole;
        out->heads[m * size] = *cell(&marginal, 0, n, m) = chance;
    }
    for (int w = n; w >= 1; w--) {
        for (int i = 0, j = w; j <= n; i++, j++) {
            weigh_modifiers(c, i, j, best, sum);
            for (int h = 1; h <= n; h++) {
                const double mass = *cell(&marginal, i, j, h);
                if ((h > i && h <= j) || !(mass > 0.0)) continue;
                for (int m = i + 1; m <= j; m++) {
                    const double way = (*cell(c, i, j, m) + c->attach[m * c->stride + h]) - best[h];
                    const double value = mass / sum[h] * exp_negative(way);
                    out->heads[m * size + h] += value;
                    *cell(&marginal, i, j, m) += value;
                }
            }
            double everything = 0.0;
            for (int h = i + 1; h <= j; h++) everything += *cell(&marginal, i, j, h);
            out->spans[i * size + j] = everything;
            for (int h = 1; h <= n; h++) buffer[h] = *cell(&marginal, i, j, h);
            if (out->parts) set_parts(out, i, j, n, buffer);
            weigh_splits(c, i, j, best, sum);
            for (int k = i + 1; k < j; k++) {
                for (int h = i + 1; h <= j; h++) {
                    const double way = (*cell(c, i, k, h) + *cell(c, k, j, h)) - best[h];
                    const double value = *cell(&marginal, i, j, h) / sum[h] * exp_negative(way);
                    *cell(&marginal, i, k, h) += value;
                    *cell(&marginal, k, j, h) += value;
                }
            }
        }
    }
    return partition;
}

/* A sentence of sums.c, with logarithms. */
static int log_sentence(const sums_work *work, const scores *s, const marginals *out, int b) {
    const int n = s->n;
    const bool joint = s->span && s->arc;
    room room = {NULL, 0};
    chart c = {0};
    halves x, g;
    double *square, *other, *rows[4];
    int *stack;
    for (int turn = 0; turn < 2; turn++) {
        room.used = 0;
        if (joint) c = new_chart(&room, n, false);
        x = reserve_halves(&room, joint ? 0 : n), g = reserve_halves(&room, joint ? 0 : n);
        square = reserve(&room, (n + 1) * cky_stride(n), sizeof(double));
        other = reserve(&room, joint ? c.plane * c.blocks : n * cky_stride(n), sizeof(double));
        for (int row = 0; row < 4; row++) rows[row] = reserve(&room, n + 1 + LANES, sizeof(double));
        stack = reserve(&room, 6 * (n + 1), sizeof(int));
        if (!turn && !(room.base = borrow(room.used))) return NO_MEMORY;
    }
    double *charts[4] = {g.right, g.left, g.arc_right, g.arc_left};
    const size_t bytes = (size_t)((n + 2) * eisner_stride(n)) * sizeof(double);
    for (int part = 0; part < 4 && !joint; part++) memset(charts[part], 0, bytes);
    double found;
    if (joint)
        found = log_joint(s, &c, other, rows[0], rows[1], rows[2], out);
    else if (s->arc)
        found = log_eisner(s, x, g, rows[0], rows[1], out->heads);
    else
        found = log_cky(s, square, other, out->spans);
    work->partition[b] = found;
    for (int sample = 0; sample < work->samples && found > GONE; sample++) {
        const samples to = samples_of(work, b, sample, joint ? 3 : 2);
        if (joint)
            trace(&c, c.attach, c.stride, to.random, rows[3], stack, to.heads, to.rows);
        else if (s->arc)
            eisner_trace(n, x, rows[1], 1, to.random, rows[3], stack, to.heads);
        else
            cky_trace(n, square, to.random, rows[3], stack, to.rows);
    }
    give_back(room.base);
    return found > GONE ? DONE : FORBIDDEN;
}
