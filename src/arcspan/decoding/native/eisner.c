/* Eisner (1996) over projective trees with one root: O(n^3) time, O(n^2) memory. A template: see algebra.h.

Over words i..j, i <= j:  right[i, j] the half tree that i heads, left[i, j] that j heads ("complete"), arc_right[i, j]
and arc_left[i, j] those in which the arc between i and j was just made ("incomplete"):

    both            = max over i <= k < j of right[i, k] + left[k+1, j]
    arc_right[i, j] = both + s(j, i)                     arc_left[i, j] = both + s(i, j)         s(modifier, head)
    right[i, j]     = max over i < k <= j of arc_right[i, k] + right[k, j]
    left[i, j]      = max over i <= k < j of left[i, k] + arc_left[k, j]

The row of i is computed from i = n down to 1. What is known of (i, k) is pushed at once into all (i, j), j > k, LANES
ends at a time: every operand lies along a row. */

/* Four charts, (i, j) at i * stride + j. Rows are whole lanes, and j begins where lanes do: the values for j < i in the
   lanes of i - 1 and i are NOTHING, as are those of arcs for j = i. */
typedef struct {
    number *right, *left, *arc_right, *arc_left;
} halves;

static inline place eisner_stride(int n) { return (place)LANES * (n / LANES + 1); }

static inline halves reserve_halves(room *room, int n) {
    number *part[4];
    for (int p = 0; p < 4; p++) part[p] = reserve(room, (n + 2) * eisner_stride(n), sizeof(number));
    return (halves){part[0], part[1], part[2], part[3]};
}

/* arc[m * size + h] for words; `word` extends every arc, to keep sums in range. Until (i, j) has its turn,
   arc_right[i, j] holds what is known of `both`. */
static inline void eisner_inside(const number *arc, place size, int n, number word, halves x) {
    const place stride = eisner_stride(n);
    for (int e = 0; e <= n; e += LANES) store(x.left + (n + 1) * stride + e, splat(NOTHING));
    for (int i = n; i >= 1; i--) {
        number *right = x.right + i * stride, *left = x.left + i * stride;
        number *arc_right = x.arc_right + i * stride, *arc_left = x.arc_left + i * stride;
        for (int e = (i - 1) & -LANES; e <= n; e += LANES) {
            store(right + e, splat(NOTHING));
            store(left + e, splat(NOTHING));
            store(arc_left + e, splat(NOTHING));
            /* k = i: i alone, and a left half tree of the words after it. */
            store(arc_right + e, e >= (i & -LANES) ? load(left + stride + e) : splat(NOTHING));
        }
        right[i] = left[i] = UNIT;
        for (int j = i + 1; j <= n; j++) {
            const number both = joined(arc_right[j], word);
            arc_right[j] = joined(both, arc[j * size + i]);
            arc_left[j] = joined(both, arc[i * size + j]);
            /* The half trees in which j is the last modifier of i, and i the last one of j. */
            left[j] = either(left[j], arc_left[j]);
            const lanes tree_right = splat(either(right[j], arc_right[j])), made = splat(arc_right[j]);
            const lanes tree_left = splat(left[j]);
            const place at = j * stride;
            /* right[j, j] is there: k = j is among what is pushed into right[i, j]. Row n + 1 is empty. */
            for (int e = j & -LANES; e <= n; e += LANES) {
                store(arc_right + e, combine(load(arc_right + e), tree_right, load(x.left + at + stride + e)));
                store(right + e, combine(load(right + e), made, load(x.right + at + e)));
                store(left + e, combine(load(left + e), tree_left, load(x.arc_left + at + e)));
            }
        }
    }
}

/* The best tree, or one drawn by chance, found again from the values: heads[1..n]. False where there is none. */
static inline bool eisner_trace(int n, halves x, const number *root, place step, const double *random, number *weights,
                         int *stack, int64_t *heads) {
    const place stride = eisner_stride(n);
    for (int m = 1; m <= n; m++)
        weights[m - 1] = joined(joined(x.left[stride + m], x.right[m * stride + n]), root[m * step]);
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
            weights[k - low] = h < end ? joined(x.arc_right[h * stride + k], x.right[k * stride + end])
                                       : joined(x.left[end * stride + k], x.arc_left[k * stride + h]);
        const int m = low + larger_int(choose(weights, count, &random), 0);
        heads[m] = h;
        const int i = smaller_int(h, m), j = larger_int(h, m);
        for (int k = i; k < j; k++) weights[k - i] = joined(x.right[i * stride + k], x.left[(k + 1) * stride + j]);
        const int split = i + larger_int(choose(weights, j - i, &random), 0);
        stack[top++] = m, stack[top++] = end;
        stack[top++] = i, stack[top++] = split;
        stack[top++] = j, stack[top++] = split + 1;
    }
    return true;
}

#if ALGEBRA == SUMS
/* heads[m * size + h]: inside times outside, over the whole. g holds the outside values of the four charts, but that
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
