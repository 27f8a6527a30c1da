/* Eisner (1996) over projective trees with one root: O(n^3) time, O(n^2) memory. A template: see
algebra.h.

Over words i..j, i <= j: right[i, j] is the half tree that i heads, left[i, j] the one that j heads
("complete"); arc_right[i, j] and arc_left[i, j] are those in which the arc between i and j was
added last ("incomplete"). With s(modifier, head):

    both            = max over i <= k < j of right[i, k] + left[k+1, j]
    arc_right[i, j] = both + s(j, i)
    arc_left[i, j]  = both + s(i, j)
    right[i, j]     = max over i < k <= j of arc_right[i, k] + right[k, j]
    left[i, j]      = max over i <= k < j of left[i, k] + arc_left[k, j]

As in cky_tpl.h, a row of a chart holds the half trees over j - i = w words by where they begin. */

/* Four charts, (i, j) at half_at(...). Rows are padded so that lanes may run over their end. */
typedef struct {
    num_t *right, *left, *arc_right, *arc_left;
} halves;

static inline idx_t eisner_stride(int n) { return n + 1 + LANES; }

static inline idx_t half_at(idx_t stride, int i, int j) { return (j - i) * stride + i; }

static inline halves reserve_halves(arena *memory, int n) {
    num_t *chart[4];
    for (int p = 0; p < 4; p++)
        chart[p] = reserve(memory, (n + 1) * eisner_stride(n), sizeof(num_t));
    return (halves){chart[0], chart[1], chart[2], chart[3]};
}

/* Fill the charts from arc[m * size + h], by the recurrences above in tiles as in cky_tpl.h.
   `word` extends every arc, to keep sums in range. For sums the caller has set x to zero. */
static inline void eisner_inside(const num_t *arc, idx_t size, int n, num_t word, halves x) {
    const idx_t stride = eisner_stride(n);
    for (int i = 1; i <= n; i++) {
        x.right[i] = x.left[i] = UNIT;
        for (int j = i + 1; j <= n; j++) {
            x.arc_right[half_at(stride, i, j)] = extend_one(arc[j * size + i], word);
            x.arc_left[half_at(stride, i, j)] = extend_one(arc[i * size + j], word);
        }
    }
    for (int i = (n - 1) / LANES * LANES + 1; i > 0; i -= LANES) {
        for (int w = 1; w <= n - i; w += TILE) {
            lanes both[TILE], right[TILE], left[TILE];
            add_splits(x.right, x.left - stride + 1, stride, w, i, both);
            add_splits(x.arc_right, x.right, stride, w, i, right);
            add_splits(x.left, x.arc_left, stride, w, i, left);
            for (int v = w; v < w + TILE && v <= n - i; v++) {
                const idx_t at = v * stride + i;
                lanes pair = both[v - w];
                lanes tree_right = right[v - w];
                lanes tree_left = left[v - w];
                for (int k = 0; k < v; k = next_split(k, w)) {
                    const idx_t first = k * stride + i;
                    const idx_t second = (v - k) * stride + i + k;
                    pair = combine(pair, load(x.right + first), load(x.left + second - stride + 1));
                    if (k == 0) continue;
                    tree_right = combine(tree_right, load(x.arc_right + first),
                                         load(x.right + second));
                    tree_left = combine(tree_left, load(x.left + first), load(x.arc_left + second));
                }
                const lanes linked_right = extend(pair, load(x.arc_right + at));
                const lanes linked_left = extend(pair, load(x.arc_left + at));
                store(x.arc_right + at, linked_right);
                store(x.arc_left + at, linked_left);
                store(x.right + at, merge(tree_right, linked_right));
                store(x.left + at, merge(tree_left, linked_left));
            }
        }
    }
}

/* Trace the best tree, or one drawn by chance, back through the values: heads[1..n]. False if
   there is none. */
static inline bool eisner_trace(int n, halves x, const num_t *root, idx_t step,
                                const double *random, num_t *weights, int *stack,
                                int64_t *heads) {
    const idx_t stride = eisner_stride(n);
    for (int m = 1; m <= n; m++) {
        const num_t left = x.left[half_at(stride, 1, m)];
        const num_t right = x.right[half_at(stride, m, n)];
        weights[m - 1] = extend_one(extend_one(left, right), root[m * step]);
    }
    const int first = choose(weights, n, &random) + 1;
    int top = 4;
    if (first == 0) return false;
    heads[first] = 0;
    /* Half trees: head, other end. */
    stack[0] = first;
    stack[1] = 1;
    stack[2] = first;
    stack[3] = n;
    while (top > 0) {
        const int end = stack[--top];
        const int h = stack[--top];
        if (h == end) continue;
        const int low = smaller_int(h + 1, end);
        const int count = abs(end - h);
        for (int k = low; k < low + count; k++) {
            const num_t near = h < end ? x.arc_right[half_at(stride, h, k)]
                                       : x.left[half_at(stride, end, k)];
            const num_t far = h < end ? x.right[half_at(stride, k, end)]
                                      : x.arc_left[half_at(stride, k, h)];
            weights[k - low] = extend_one(near, far);
        }
        const int m = low + larger_int(choose(weights, count, &random), 0);
        heads[m] = h;
        const int i = smaller_int(h, m);
        const int j = larger_int(h, m);
        for (int k = i; k < j; k++)
            weights[k - i] = extend_one(x.right[half_at(stride, i, k)],
                                        x.left[half_at(stride, k + 1, j)]);
        const int split = i + larger_int(choose(weights, j - i, &random), 0);
        stack[top++] = m;
        stack[top++] = end;
        stack[top++] = i;
        stack[top++] = split;
        stack[top++] = j;
        stack[top++] = split + 1;
    }
    return true;
}

#if ALGEBRA == SUMS
/* Write the marginals heads[m * size + h]: inside times outside, over the total; x by ends. g
   holds the outside values of the four charts, which the caller has set to zero; `both` takes
   the place of arc_right, whose row is done when it comes. Where an inside value of a chart is a
   sum of products a * b, the outside value of a gets that of the sum times b, and the one of b
   that of the sum times a. */
static void eisner_outside(const double *arc, idx_t arc_size, int n, double word, halves x,
                           const double *root, double total, halves g, double *heads,
                           idx_t size) {
    const idx_t stride = eisner_stride(n);
    for (int m = 1; m <= n; m++) {
        const double share = root[m] / total;
        heads[m * size] = x.left[stride + m] * x.right[m * stride + n] * share;
        g.left[stride + m] += x.right[m * stride + n] * share;
        g.right[m * stride + n] += x.left[stride + m] * share;
    }
    for (int i = 1; i <= n; i++) {
        double *right = g.right + i * stride;
        double *left = g.left + i * stride;
        double *both = g.arc_right + i * stride;
        double *arc_left = g.arc_left + i * stride;
        for (int j = n; j > i; j--) {
            const idx_t at = i * stride + j;
            const idx_t after = j * stride + j + 1;
            right[j] = x.right[at] > 0.0
                           ? right[j] + dot(both + j + 1, x.left + stride + after, n - j)
                           : 0.0;
            left[j] = x.left[at] > 0.0 ? left[j] + dot(left + j + 1, x.arc_left + after, n - j)
                                       : 0.0;
            const double arc_right = right[j] + dot(right + j + 1, x.right + after, n - j);
            arc_left[j] += left[j];
            heads[j * size + i] = x.arc_right[at] > 0.0 ? arc_right * x.arc_right[at] : 0.0;
            heads[i * size + j] = x.arc_left[at] > 0.0 ? arc_left[j] * x.arc_left[at] : 0.0;
            both[j] = 0.0;
            if (x.arc_right[at] > 0.0) both[j] += word * arc_right * arc[j * arc_size + i];
            if (x.arc_left[at] > 0.0) both[j] += word * arc_left[j] * arc[i * arc_size + j];
        }
        for (int k = i; k < n; k++) {
            const idx_t at = i * stride + k;
            const idx_t after = k * stride + k + 1;
            add_scaled(g.left + stride + after, both + k + 1, x.right[at], n - k);
            if (k == i) continue;
            add_scaled(g.right + after, right + k + 1, x.arc_right[at], n - k);
            add_scaled(g.arc_left + after, left + k + 1, x.left[at], n - k);
        }
    }
}
#else
/* Search one sentence. Runs twice: first to measure `memory`, then to compute. */
static int eisner_sentence(batch *batch, int b, arena *memory) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const idx_t size = work->size;
    const num_t *arc = work->arc + b * size * size;
    int64_t *heads = work->heads + b * size;
    const halves x = reserve_halves(memory, n);
    num_t *weights = reserve(memory, n, sizeof *weights);
    int *stack = reserve(memory, 6 * (n + 1), sizeof *stack);
    if (!memory->base) return DONE;
    if (!fit_arcs(arc, size, n)) return TOO_LARGE;
    eisner_inside(arc, size, n, UNIT, x);
    if (!eisner_trace(n, x, arc, size, NULL, weights, stack, heads)) return FORBIDDEN;
    work->scores[b] = 0.0;
    for (int m = 1; m <= n; m++) work->scores[b] += arc[m * size + heads[m]];
    return DONE;
}
#endif
