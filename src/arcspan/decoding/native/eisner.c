/* Eisner (1996) over projective trees with one root: O(n^3) time, O(n^2) memory. A template: see algebra.h.

Over words i..j, i <= j:  right[i, j] the half tree that i heads, left[i, j] that j heads ("complete"), arc_right[i, j]
and arc_left[i, j] those in which the arc between i and j was just made ("incomplete"):

    both            = max over i <= k < j of right[i, k] + left[k+1, j]
    arc_right[i, j] = both + s(j, i)                     arc_left[i, j] = both + s(i, j)         s(modifier, head)
    right[i, j]     = max over i < k <= j of arc_right[i, k] + right[k, j]
    left[i, j]      = max over i <= k < j of left[i, k] + arc_left[k, j]

As in cky.c, a row of a chart holds what is j - i = w wide by where it begins. */

/* Four charts, (i, j) at half_at(...). Rows are padded so that lanes may run over their end. */
typedef struct {
    number *right, *left, *arc_right, *arc_left;
} halves;

static inline place eisner_stride(int n) { return n + 1 + LANES; }

static inline place half_at(place stride, int i, int j) { return (j - i) * stride + i; }

static inline halves reserve_halves(room *room, int n) {
    number *part[4];
    for (int p = 0; p < 4; p++) part[p] = reserve(room, (n + 1) * eisner_stride(n), sizeof(number));
    return (halves){part[0], part[1], part[2], part[3]};
}

/* arc[m * size + h] for words; `word` extends every arc, to keep sums in range. For sums x is zero as it comes. */
static inline void eisner_inside(const number *arc, place size, int n, number word, halves x) {
    const place stride = eisner_stride(n);
    for (int i = 1; i <= n; i++) {
        x.right[i] = x.left[i] = UNIT;
        for (int j = i + 1; j <= n; j++) {
            x.arc_right[half_at(stride, i, j)] = joined(arc[j * size + i], word);
            x.arc_left[half_at(stride, i, j)] = joined(arc[i * size + j], word);
        }
    }
    for (int i = (n - 1) / LANES * LANES + 1; i > 0; i -= LANES) {
        for (int w = 1; w <= n - i; w += TILE) {
            lanes both[TILE], right[TILE], left[TILE];
            add_splits(x.right, x.left - stride + 1, stride, w, i, both);
            add_splits(x.arc_right, x.right, stride, w, i, right);
            add_splits(x.left, x.arc_left, stride, w, i, left);
            for (int v = w; v < w + TILE && v <= n - i; v++) {
                const place at = v * stride + i;
                lanes pair = both[v - w], tree_right = right[v - w], tree_left = left[v - w];
                for (int k = 0; k < v; k = next_split(k, w)) {
                    const place first = k * stride + i, rest = (v - k) * stride + i + k;
                    pair = combine(pair, load(x.right + first), load(x.left + rest - stride + 1));
                    if (k == 0) continue;
                    tree_right = combine(tree_right, load(x.arc_right + first), load(x.right + rest));
                    tree_left = combine(tree_left, load(x.left + first), load(x.arc_left + rest));
                }
                const lanes made_right = extend(pair, load(x.arc_right + at));
                const lanes made_left = extend(pair, load(x.arc_left + at));
                store(x.arc_right + at, made_right);
                store(x.arc_left + at, made_left);
                store(x.right + at, merge(tree_right, made_right));
                store(x.left + at, merge(tree_left, made_left));
            }
        }
    }
}

/* The best tree, or one drawn by chance, found again from the values: heads[1..n]. False where there is none. */
static inline bool eisner_trace(int n, halves x, const number *root, place step, const double *random, number *weights,
                                int *stack, int64_t *heads) {
    const place stride = eisner_stride(n);
    for (int m = 1; m <= n; m++)
        weights[m - 1] = joined(joined(x.left[half_at(stride, 1, m)], x.right[half_at(stride, m, n)]), root[m * step]);
    const int first = choose(weights, n, &random) + 1;
    int top = 4;
    if (first == 0) return false;
    heads[first] = 0;
    /* A half tree: its head, its other end. */
    stack[0] = first, stack[1] = 1, stack[2] = first, stack[3] = n;
    while (top > 0) {
        const int end = stack[--top], h = stack[--top];
        if (h == end) continue;
        const int low = smaller_int(h + 1, end), count = abs(end - h);
        for (int k = low; k < low + count; k++)
            weights[k - low] = h < end ? joined(x.arc_right[half_at(stride, h, k)], x.right[half_at(stride, k, end)])
                                       : joined(x.left[half_at(stride, end, k)], x.arc_left[half_at(stride, k, h)]);
        const int m = low + larger_int(choose(weights, count, &random), 0);
        heads[m] = h;
        const int i = smaller_int(h, m), j = larger_int(h, m);
        for (int k = i; k < j; k++)
            weights[k - i] = joined(x.right[half_at(stride, i, k)], x.left[half_at(stride, k + 1, j)]);
        const int split = i + larger_int(choose(weights, j - i, &random), 0);
        stack[top++] = m, stack[top++] = end;
        stack[top++] = i, stack[top++] = split;
        stack[top++] = j, stack[top++] = split + 1;
    }
    return true;
}

#if ALGEBRA == SUMS
/* heads[m * size + h]: inside times outside, over the whole; x by ends. g holds the outside values of the four charts, but
   `both` takes the place of arc_right, whose row is done when it comes; g's charts are zero as they come. */
static void eisner_outside(const double *arc, place arc_size, int n, double word, halves x, const double *root,
                           double whole, halves g, double *heads, place size) {
    const place stride = eisner_stride(n);
    for (int m = 1; m <= n; m++) {
        const double share = root[m] / whole;
        heads[m * size] = x.left[stride + m] * x.right[m * stride + n] * share;
        g.left[stride + m] += x.right[m * stride + n] * share;
        g.right[m * stride + n] += x.left[stride + m] * share;
    }
    for (int i = 1; i <= n; i++) {
        double *right = g.right + i * stride, *left = g.left + i * stride;
        double *both = g.arc_right + i * stride, *arc_left = g.arc_left + i * stride;
        for (int j = n; j > i; j--) {
            const place at = i * stride + j, after = j * stride + j + 1;
            right[j] = x.right[at] > 0.0 ? right[j] + dot(both + j + 1, x.left + stride + after, n - j) : 0.0;
            left[j] = x.left[at] > 0.0 ? left[j] + dot(left + j + 1, x.arc_left + after, n - j) : 0.0;
            const double arc_right = right[j] + dot(right + j + 1, x.right + after, n - j);
            arc_left[j] += left[j];
            heads[j * size + i] = x.arc_right[at] > 0.0 ? arc_right * x.arc_right[at] : 0.0;
            heads[i * size + j] = x.arc_left[at] > 0.0 ? arc_left[j] * x.arc_left[at] : 0.0;
            both[j] = 0.0;
            if (x.arc_right[at] > 0.0) both[j] += word * arc_right * arc[j * arc_size + i];
            if (x.arc_left[at] > 0.0) both[j] += word * arc_left[j] * arc[i * arc_size + j];
        }
        for (int k = i; k < n; k++) {
            const place at = i * stride + k, after = k * stride + k + 1;
            add_scaled(g.left + stride + after, both + k + 1, x.right[at], n - k);
            if (k == i) continue;
            add_scaled(g.right + after, right + k + 1, x.arc_right[at], n - k);
            add_scaled(g.arc_left + after, left + k + 1, x.left[at], n - k);
        }
    }
}
#else
static int eisner_sentence(batch *batch, int b, room *room) {
    const search_work *work = (const search_work *)batch;
    const int n = (int)batch->lengths[b];
    const place size = work->size;
    const number *arc = work->arc + b * size * size;
    int64_t *heads = work->heads + b * size;
    const halves x = reserve_halves(room, n);
    number *weights = reserve(room, n, sizeof *weights);
    int *stack = reserve(room, 6 * (n + 1), sizeof *stack);
    if (!room->base) return DONE;
    if (!fit_arcs(arc, size, n)) return TOO_LARGE;
    eisner_inside(arc, size, n, UNIT, x);
    if (!eisner_trace(n, x, arc, size, NULL, weights, stack, heads)) return FORBIDDEN;
    work->scores[b] = 0.0;
    for (int m = 1; m <= n; m++) work->scores[b] += arc[m * size + heads[m]];
    return DONE;
}
#endif
